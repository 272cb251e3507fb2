/** The engine of a tab that does not lead: it passes calls on to the leading tab. */
export class RemoteEngine {
    /** @param {import('./tabs.js').Tabs} tabs */
    constructor(tabs: import('./tabs.js').Tabs);
    /**
     * The server's hello on the leader's connection.
     *
     * @type {import('./connection.js').ServerHello | null}
     */
    hello: import('./connection.js').ServerHello | null;
    tabs: import("./tabs.js").Tabs;
    /**
     * Takes the state of the leader. Another one than before does not answer the calls to that.
     *
     * @param {string} leaderID
     * @param {import('./connection.js').ServerHello | null} hello
     */
    follow(leaderID: string, hello: import('./connection.js').ServerHello | null): void;
    /**
     * @param {string} method
     * @param {object} [params]
     * @returns {Promise<any>}
     */
    call(method: string, params?: object | undefined): Promise<any>;
    /**
     * Takes the answer of the leader.
     *
     * @param {{ id: string, result?: any, error?: any }} message
     */
    receive({ id, result, error }: {
        id: string;
        result?: any;
        error?: any;
    }): void;
    /** The leader is gone, with the calls on their way. */
    stop(): void;
    /** The writes of the outbox themselves wake the leader. */
    wakeOutbox(): void;
    retryNow(): void;
    /**
     * @param {string} conversationID
     * @param {boolean} isTyping
     */
    setTyping(conversationID: string, isTyping: boolean): void;
    /** @param {string} conversationID */
    messageSent(conversationID: string): void;
    /** @param {boolean} isVisible */
    setVisible(isVisible: boolean): void;
    #private;
}
