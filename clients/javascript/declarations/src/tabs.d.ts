/**
 * What a tab of an environment needs to find the others. Browsers have both; tests bring their own.
 *
 * @typedef {object} TabEnvironment
 * @property {any} [locks] The interface of `navigator.locks`.
 * @property {any} [BroadcastChannel] The constructor.
 */
/**
 * The tabs that share a storage. One of them leads: it alone has a connection, and writes what the server sends. The
 * others show what it writes, and call methods through it. If it is closed, another leads.
 */
export class Tabs {
    /**
     * @param {import('./storage.js').Storage} storage
     * @param {TabEnvironment} environment
     */
    constructor({ name, isShared }: import('./storage.js').Storage, { locks, BroadcastChannel }: TabEnvironment);
    id: string;
    isLeader: boolean;
    /** Called when this tab begins or ends to lead. */
    onLead: (_isLeader: boolean) => void;
    /** Called with each message of another tab. */
    onMessage: (_message: any) => void;
    /** Waits for the lead. Call it once the tab can take it. */
    start(): void;
    /**
     * Sends a message to the other tabs, or to the one with the id `to`.
     *
     * @param {{ type: string, to?: string, [name: string]: any }} message
     */
    post(message: {
        [name: string]: any;
        type: string;
        to?: string | undefined;
    }): void;
    close(): void;
    #private;
}
/**
 * What a tab of an environment needs to find the others. Browsers have both; tests bring their own.
 */
export type TabEnvironment = {
    /**
     * The interface of `navigator.locks`.
     */
    locks?: any;
    /**
     * The constructor.
     */
    BroadcastChannel?: any;
};
