/** @typedef {import('./connection.js').Connection} Connection */
/**
 * The signed-in user of the device. `renewAt` is by the device's clock, because the server's may differ.
 *
 * @typedef {{
 *   userID: string, isGuest: boolean, accessToken: string, refreshToken: string | null, renewAt: number
 * }} Session
 */
/** @typedef {() => string | null | Promise<string | null>} AccessTokenProvider */
/**
 * Returns the session of tokens.
 *
 * @param {import('../types.js').Tokens} tokens
 * @returns {Session}
 */
export function sessionOf({ access_token, refresh_token, expires_in, user_id, is_guest }: import('../types.js').Tokens): Session;
/** The tokens of the signed-in user. It renews them, and never twice at the same time. */
export class TokenKeeper {
    /**
     * @param {Session} session
     * @param {object} storage
     * @param {() => Promise<Session | null>} storage.load Returns the stored session, which another tab may have renewed.
     * @param {(session: Session) => Promise<void>} storage.save
     * @param {AccessTokenProvider} [provider] Returns a new access token of an external account.
     */
    constructor(session: Session, { load, save }: {
        load: () => Promise<Session | null>;
        save: (session: Session) => Promise<void>;
    }, provider?: AccessTokenProvider | undefined);
    session: Session;
    load: () => Promise<Session | null>;
    save: (session: Session) => Promise<void>;
    provider: AccessTokenProvider | undefined;
    get isDue(): boolean;
    get canRenew(): boolean;
    /**
     * Authenticates a connection, with renewed tokens if the old ones have expired. The server decides about that.
     *
     * @param {Connection} connection
     * @throws {PostlineError} `session_revoked` or `invalid_token` if the session is over.
     */
    authenticate(connection: Connection): Promise<void>;
    /**
     * Renews the tokens. Calls at the same time share one renewal.
     *
     * @param {Connection} connection
     */
    renew(connection: Connection): Promise<void>;
    /**
     * Replaces the tokens.
     *
     * @param {Session} session
     */
    update(session: Session): Promise<void>;
    #private;
}
export type Connection = import('./connection.js').Connection;
/**
 * The signed-in user of the device. `renewAt` is by the device's clock, because the server's may differ.
 */
export type Session = {
    userID: string;
    isGuest: boolean;
    accessToken: string;
    refreshToken: string | null;
    renewAt: number;
};
export type AccessTokenProvider = () => string | null | Promise<string | null>;
