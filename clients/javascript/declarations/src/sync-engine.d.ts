/**
 * The state of the connection.
 *
 * - `loading`: the device's data is being read.
 * - `signed_out`: no user is signed in. `error` says why, if the server ended the session.
 * - `connecting`, then `catching_up`: changes since the last connection are being fetched.
 * - `live`: the device has all changes, and new ones arrive as they commit.
 * - `offline`: `error` says why, and `retryAt` (milliseconds since 1970) when the next attempt begins.
 *
 * @typedef {object} ConnectionState
 * @property {'loading' | 'signed_out' | 'connecting' | 'catching_up' | 'live' | 'offline'} name
 * @property {PostlineError} [error]
 * @property {number} [retryAt]
 */
/**
 * @typedef {object} EngineOptions
 * @property {import('./store.js').Store} store
 * @property {import('./tokens.js').TokenKeeper} tokens
 * @property {Omit<import('./connection.js').ConnectionOptions, 'onPush'>} connection
 * @property {import('./upload.js').MediaURL} [mediaURL]
 * @property {boolean} isVisible
 * @property {(state: ConnectionState) => void} onState
 * @property {(notice: import('./typists.js').TypingNotice) => void} onTyping
 * @property {(key: string, part: number) => void} onProgress
 * @property {(error: PostlineError) => void} onSessionEnd
 */
/** Keeps one connection: authenticates it, syncs, sends the outbox, and connects again after a loss. */
export class SyncEngine {
    /** @param {EngineOptions} options */
    constructor(options: EngineOptions);
    /** The server's hello on the current connection. */
    get hello(): {
        server: string;
        version: string;
        protocol: number;
        max_line_bytes: number;
        max_in_flight: number;
        ping_seconds: number;
        features: string[];
        contact: string | null;
        time: string;
    } | null;
    /** Runs until `stop` is called or the session is over. */
    run(): Promise<void>;
    /** Ends the connection and all attempts. */
    stop(): void;
    /** Fetches the changes that the server has now. @throws {PostlineError} `offline` */
    refresh(): Promise<void>;
    /**
     * Calls a method on the current connection, or on the one that is being opened.
     *
     * @param {string} method
     * @param {object} [params]
     * @throws {PostlineError} The server's error, or `offline`.
     */
    call(method: string, params?: object | undefined): Promise<any>;
    /** Returns an access token that is valid for a while. */
    accessToken(): Promise<string>;
    /** Sends what waits in the outbox. */
    wakeOutbox(): void;
    /** Connects without waiting for the back-off, or checks the current connection. */
    retryNow(): void;
    /**
     * @param {string} conversationID
     * @param {boolean} isTyping
     */
    setTyping(conversationID: string, isTyping: boolean): void;
    /** @param {string} conversationID */
    messageSent(conversationID: string): void;
    /**
     * Sets whether the user sees the app. A user who does not is not online.
     *
     * @param {boolean} isVisible
     */
    setVisible(isVisible: boolean): void;
    tellVisibility(): Promise<void>;
    #private;
}
/**
 * The state of the connection.
 *
 * - `loading`: the device's data is being read.
 * - `signed_out`: no user is signed in. `error` says why, if the server ended the session.
 * - `connecting`, then `catching_up`: changes since the last connection are being fetched.
 * - `live`: the device has all changes, and new ones arrive as they commit.
 * - `offline`: `error` says why, and `retryAt` (milliseconds since 1970) when the next attempt begins.
 */
export type ConnectionState = {
    name: 'loading' | 'signed_out' | 'connecting' | 'catching_up' | 'live' | 'offline';
    error?: PostlineError | undefined;
    retryAt?: number | undefined;
};
export type EngineOptions = {
    store: import('./store.js').Store;
    tokens: import('./tokens.js').TokenKeeper;
    connection: Omit<import('./connection.js').ConnectionOptions, 'onPush'>;
    mediaURL?: import("./upload.js").MediaURL | undefined;
    isVisible: boolean;
    onState: (state: ConnectionState) => void;
    onTyping: (notice: import('./typists.js').TypingNotice) => void;
    onProgress: (key: string, part: number) => void;
    onSessionEnd: (error: PostlineError) => void;
};
import { PostlineError } from "./errors.js";
