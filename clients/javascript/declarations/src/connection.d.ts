/**
 * Returns the bytes of a text in UTF-8. React Native has no encoder everywhere.
 *
 * @param {string} text
 */
export function byteCount(text: string): number;
/** @typedef {import('../types.js').MethodResults['server.info']} ServerHello */
/** @typedef {{ code: string, message: string, reconnect: boolean }} Goodbye */
/**
 * The end of a connection.
 *
 * - `mayReconnect`: the client should connect again by itself.
 * - `endsSession`: the server has ended the session. Close code 1008 may also be an expired token: the next try tells.
 *
 * @typedef {{ error: PostlineError, mayReconnect: boolean, endsSession: boolean }} Loss
 */
/**
 * A line's `size` in characters. An answer also has the `method` that it answers, and the `duration` in milliseconds.
 *
 * @typedef {{ size: number, method?: string, duration?: number }} LineDetails
 */
/**
 * @typedef {object} ConnectionOptions
 * @property {string} url
 * @property {any} WebSocket The constructor, with the interface of browsers.
 * @property {(method: string, params: any) => void} [onPush] Called with each push, in order.
 * @property {(direction: 'in' | 'out', line: any, details: LineDetails) => void} [onLine] Called with each line, such
 *   as for a log.
 */
/** One connection that speaks the line protocol over a WebSocket. Each text message is one line. */
export class Connection {
    /**
     * Resolves with the connection once the server has said hello.
     *
     * @param {ConnectionOptions} options
     */
    static open(options: ConnectionOptions): Promise<Connection>;
    /**
     * @param {ConnectionOptions} options
     * @param {() => void} onHello
     */
    constructor({ url, WebSocket, onPush, onLine }: ConnectionOptions, onHello: () => void);
    /**
     * Resolves once the connection has ended.
     *
     * @type {Promise<Loss>}
     */
    ended: Promise<Loss>;
    /** The time of the last line from the server. */
    lastHeard: number;
    /**
     * The server's hello.
     *
     * @type {ServerHello}
     */
    hello: ServerHello;
    get isOpen(): boolean;
    /**
     * Calls a method.
     *
     * @param {string} method
     * @param {object} [params]
     * @param {{ timeout?: number, onResult?: (result: any) => void }} [options] `onResult` is called with the result
     *   before any later line is handled.
     * @returns {Promise<any>}
     * @throws {PostlineError} The server's error, `offline`, or `line_too_long`.
     */
    call(method: string, params?: object | undefined, options?: {
        timeout?: number | undefined;
        onResult?: ((result: any) => void) | undefined;
    } | undefined): Promise<any>;
    /**
     * Calls a method without waiting for an answer.
     *
     * @param {string} method
     * @param {object} params
     */
    notify(method: string, params: object): void;
    /**
     * Ends the connection now. A peer that is gone would not answer a closing handshake.
     *
     * @param {string} [reason]
     */
    close(reason?: string | undefined): void;
    #private;
}
export type ServerHello = import('../types.js').MethodResults['server.info'];
export type Goodbye = {
    code: string;
    message: string;
    reconnect: boolean;
};
/**
 * The end of a connection.
 *
 * - `mayReconnect`: the client should connect again by itself.
 * - `endsSession`: the server has ended the session. Close code 1008 may also be an expired token: the next try tells.
 */
export type Loss = {
    error: PostlineError;
    mayReconnect: boolean;
    endsSession: boolean;
};
/**
 * A line's `size` in characters. An answer also has the `method` that it answers, and the `duration` in milliseconds.
 */
export type LineDetails = {
    size: number;
    method?: string;
    duration?: number;
};
export type ConnectionOptions = {
    url: string;
    /**
     * The constructor, with the interface of browsers.
     */
    WebSocket: any;
    /**
     * Called with each push, in order.
     */
    onPush?: ((method: string, params: any) => void) | undefined;
    /**
     * Called with each line, such
     * as for a log.
     */
    onLine?: ((direction: 'in' | 'out', line: any, details: LineDetails) => void) | undefined;
};
import { PostlineError } from "./errors.js";
