/** @typedef {import('./tokens.js').Session} Session */
/** @typedef {import('./storage.js').Storage} Storage */
/** @typedef {{ conversations: number, messages: number }} MergeResult */
/**
 * How to sign in. A guest of this device is merged into the account, with its unsent changes.
 *
 * - by `email` and `password`;
 * - by an `accessToken` of the server that keeps the accounts, or a function that returns one whenever the last has
 *   expired; with `guestAccessToken` the guest of that server is merged;
 * - by Apple's `identityToken`, its `nonce`, and `fullName` for a new account.
 *
 * @typedef {{ email: string, password: string }
 *   | { accessToken: string | import('./tokens.js').AccessTokenProvider, guestAccessToken?: string }
 *   | { identityToken: string, nonce?: string, fullName?: string }} Credentials
 */
/** @typedef {import('./tokens.js').AccessTokenProvider} AccessTokenProvider */
/** @typedef {{ session: Session, merged: MergeResult | null, provider?: AccessTokenProvider }} SignIn */
/** @typedef {(connection: Connection, guest: Session | null) => Promise<SignIn>} SignInRequest */
/**
 * Runs an action with a connection of its own.
 *
 * @template Value
 * @param {Omit<import('./connection.js').ConnectionOptions, 'onPush'>} options
 * @param {(connection: Connection) => Promise<Value>} action
 */
export function withConnection<Value>(options: Omit<import('./connection.js').ConnectionOptions, 'onPush'>, action: (connection: Connection) => Promise<Value>): Promise<Value>;
/**
 * Signs in on a connection.
 *
 * @param {Connection} connection
 * @param {Credentials} credentials
 * @param {Session | null} guest The guest to merge.
 * @returns {Promise<SignIn>}
 * @throws {PostlineError}
 */
export function signInWith(connection: Connection, credentials: Credentials, guest: Session | null): Promise<SignIn>;
/**
 * @param {Connection} connection
 * @param {string} method A method that returns tokens.
 * @param {object} params
 * @param {Session | null} [guest]
 * @returns {Promise<SignIn>}
 */
export function requestTokens(connection: Connection, method: string, params: object, guest?: import("./tokens.js").Session | null | undefined): Promise<SignIn>;
/**
 * Returns the name of a user's database.
 *
 * @param {string} userID
 */
export function databaseName(userID: string): string;
/**
 * Moves a guest's unsent changes and drafts to the account that it was merged into.
 *
 * @param {Storage} storage
 * @param {string} guestID
 * @param {string} userID
 */
export function moveGuest(storage: Storage, guestID: string, userID: string): Promise<void>;
export type Session = import('./tokens.js').Session;
export type Storage = import('./storage.js').Storage;
export type MergeResult = {
    conversations: number;
    messages: number;
};
/**
 * How to sign in. A guest of this device is merged into the account, with its unsent changes.
 *
 * - by `email` and `password`;
 * - by an `accessToken` of the server that keeps the accounts, or a function that returns one whenever the last has
 *   expired; with `guestAccessToken` the guest of that server is merged;
 * - by Apple's `identityToken`, its `nonce`, and `fullName` for a new account.
 */
export type Credentials = {
    email: string;
    password: string;
} | {
    accessToken: string | import('./tokens.js').AccessTokenProvider;
    guestAccessToken?: string;
} | {
    identityToken: string;
    nonce?: string;
    fullName?: string;
};
export type AccessTokenProvider = import('./tokens.js').AccessTokenProvider;
export type SignIn = {
    session: Session;
    merged: MergeResult | null;
    provider?: AccessTokenProvider;
};
export type SignInRequest = (connection: Connection, guest: Session | null) => Promise<SignIn>;
import { Connection } from "./connection.js";
