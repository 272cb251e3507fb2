/** @typedef {import('./tokens.js').Session} Session */
/** @typedef {import('./sync-engine.js').ConnectionState} ConnectionState */
/** @typedef {{ id: string, isGuest: boolean }} Account */
/** The parts of a client and how they change: the user's data, the engine, and the other tabs. */
export class ClientCore {
    /** @param {import('./client.js').ClientOptions} options */
    constructor(options: import('./client.js').ClientOptions);
    /** @type {ConnectionState} */
    state: ConnectionState;
    /** @type {Account | null} */
    account: Account | null;
    /** @type {UserData | null} */
    user: UserData | null;
    /** @type {SyncEngine | RemoteEngine | null} */
    engine: SyncEngine | RemoteEngine | null;
    /** @type {PostlineError | null} */
    storeError: PostlineError | null;
    /** @type {Session | null} */
    session: Session | null;
    /** Called after each change of what the client shows. */
    onChange: () => void;
    /** Called with each message that is new to the user. */
    onMessage: (_message: import('../types.js').Message) => void;
    storage: import("./storage.js").Storage;
    connectionOptions: {
        url: string;
        WebSocket: any;
        onLine: ((direction: "in" | "out", line: any, details: import("./connection.js").LineDetails) => void) | undefined;
    };
    mediaURL: import("./upload.js").MediaURL | undefined;
    accessToken: import("./tokens.js").AccessTokenProvider | undefined;
    eraseOnSessionEnd: boolean | undefined;
    /**
     * Resolves once the device's data are shown.
     *
     * @type {Promise<void>}
     */
    ready: Promise<void>;
    chats: Chats;
    /**
     * Runs an action after those before it.
     *
     * @template Value
     * @param {() => Promise<Value>} action
     * @returns {Promise<Value>}
     */
    exclusively<Value>(action: () => Promise<Value>): Promise<Value>;
    /**
     * Calls a method in the tab that leads. Without a user it opens a connection for the call.
     *
     * @param {string} method A method of the protocol, or one of `perform`.
     * @param {object} [params]
     * @returns {Promise<any>}
     */
    call(method: string, params?: object | undefined): Promise<any>;
    requireUser(): UserData;
    /**
     * Signs in on a connection of its own, and switches to that user.
     *
     * @param {import('./sign-in.js').SignInRequest} request
     */
    signIn(request: import('./sign-in.js').SignInRequest): Promise<import("./sign-in.js").MergeResult | null>;
    /**
     * Ends the session on this device.
     *
     * @param {{ error?: PostlineError, erase?: boolean, isOpen?: boolean }} options `error` says why the server has ended
     *   the session. `isOpen` is true if the server may not know yet that the session has ended.
     */
    endSession({ error, erase, isOpen }: {
        error?: PostlineError;
        erase?: boolean;
        isOpen?: boolean;
    }): Promise<void>;
    connect(): void;
    disconnect(): void;
    /** @param {boolean} isVisible */
    setVisible(isVisible: boolean): void;
    close(): Promise<void>;
    #private;
}
export type Session = import('./tokens.js').Session;
export type ConnectionState = import('./sync-engine.js').ConnectionState;
export type Account = {
    id: string;
    isGuest: boolean;
};
import { UserData } from "./user-data.js";
import { SyncEngine } from "./sync-engine.js";
import { RemoteEngine } from "./remote-engine.js";
import { PostlineError } from "./errors.js";
import { Chats } from "./chats.js";
