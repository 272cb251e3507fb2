/** @param {string} [message] */
export function offlineError(message?: string | undefined): PostlineError;
/**
 * Returns the error of an argument.
 *
 * @param {string | undefined} field
 * @param {string} message
 */
export function invalidParams(field: string | undefined, message: string): PostlineError;
/**
 * Checks an argument.
 *
 * @param {any} isRight
 * @param {string} field
 * @param {string} what What the argument must be.
 * @throws {PostlineError} `invalid_params`
 */
export function check(isRight: any, field: string, what: string): void;
/**
 * Returns the error of a storage that cannot be read or written.
 *
 * @param {any} error
 */
export function storeUnusable(error: any): PostlineError;
export function notSent(): PostlineError;
/**
 * Returns true if the error's session is over and only a new sign-in helps.
 *
 * @param {unknown} error
 */
export function endsSession(error: unknown): boolean;
/** @typedef {import('../types.js').ErrorCode} ServerErrorCode */
/**
 * The code of an error: the server's, or one that this package adds.
 *
 * - `offline`: there is no connection. A call may have been done all the same.
 * - `signed_out`: no user is signed in.
 * - `malformed_answer`: the server sent something that is not the protocol.
 * - `store_unusable`: the device's storage cannot be read or written.
 *
 * @typedef {ServerErrorCode | 'offline' | 'signed_out' | 'malformed_answer' | 'store_unusable'} PostlineErrorCode
 */
/**
 * @typedef {object} ErrorDetails
 * @property {string} [field] The path of the param at fault.
 * @property {number} [retryAfter] The seconds after which the call may succeed.
 * @property {boolean} [isRetryable] True if the same call may succeed later.
 * @property {any} [data] The server's `error.data`.
 */
/** An error of the server or of the connection to it. Switch on `code`. */
export class PostlineError extends Error {
    /**
     * Returns the error of a JSON-RPC response.
     *
     * @param {any} error
     */
    static fromResponse({ message, data }: any): PostlineError;
    /**
     * Returns the error that `toJSON` wrote, as storage and other tabs have it.
     *
     * @param {ReturnType<PostlineError['toJSON']>} stored
     */
    static fromJSON(stored: ReturnType<PostlineError['toJSON']>): PostlineError;
    /**
     * @param {PostlineErrorCode} code
     * @param {string} message
     * @param {ErrorDetails} [details]
     */
    constructor(code: PostlineErrorCode, message: string, details?: ErrorDetails | undefined);
    /** @type {PostlineErrorCode} */
    code: PostlineErrorCode;
    field: string | undefined;
    retryAfter: number | undefined;
    isRetryable: boolean;
    data: any;
    /** Returns the error as plain data. */
    toJSON(): PostlineError & {
        message: string;
    };
}
export type ServerErrorCode = import('../types.js').ErrorCode;
/**
 * The code of an error: the server's, or one that this package adds.
 *
 * - `offline`: there is no connection. A call may have been done all the same.
 * - `signed_out`: no user is signed in.
 * - `malformed_answer`: the server sent something that is not the protocol.
 * - `store_unusable`: the device's storage cannot be read or written.
 */
export type PostlineErrorCode = ServerErrorCode | 'offline' | 'signed_out' | 'malformed_answer' | 'store_unusable';
export type ErrorDetails = {
    /**
     * The path of the param at fault.
     */
    field?: string | undefined;
    /**
     * The seconds after which the call may succeed.
     */
    retryAfter?: number | undefined;
    /**
     * True if the same call may succeed later.
     */
    isRetryable?: boolean | undefined;
    /**
     * The server's `error.data`.
     */
    data?: any;
};
