/** @typedef {import('./storage.js').Write} Write */
/** @typedef {import('../types.js').Changes} Changes */
/** One user's data: a database, its copy in memory, and the only way to write both. */
export class Store {
    /**
     * @param {import('./storage.js').Database} database
     * @param {string} userID
     */
    constructor(database: import('./storage.js').Database, userID: string);
    mirror: Mirror;
    /**
     * Called after each commit of this tab with its writes.
     *
     * @type {(writes: Write[]) => void}
     */
    onCommit: (writes: Write[]) => void;
    /**
     * Called after each commit of any tab.
     *
     * @type {(touched: import('./mirror.js').Touched, writes: Write[]) => void}
     */
    onChange: (touched: import('./mirror.js').Touched, writes: Write[]) => void;
    /**
     * Called when the database cannot be read or written.
     *
     * @type {(error: PostlineError) => void}
     */
    onError: (error: PostlineError) => void;
    database: import("./storage.js").Database;
    userID: string;
    /**
     * The cursor of the last changes.
     *
     * @returns {string | undefined}
     */
    get cursor(): string | undefined;
    /** True if the records lack members of newer ones, so that a reset must replace them. */
    get isOutdated(): boolean;
    /** Reads the database. */
    load(): Promise<void>;
    /**
     * Applies changes from the server. Those that arrive while others are written are written together, and announced
     * once.
     *
     * @param {Partial<Changes>} changes
     */
    apply(changes: Partial<Changes>): Promise<void>;
    /**
     * The number of changes so far of messages of a conversation that are older than those that are stored. They are not
     * applied. If it grows while a page of older messages is fetched, the page may lack them.
     *
     * @param {string} id
     */
    olderChanges(id: string): number;
    /**
     * Applies the objects of a response.
     *
     * @param {Partial<Changes>} changes
     */
    applyResponse(changes: Partial<Changes>): Promise<void>;
    /**
     * Makes writes in one transaction, after all earlier ones.
     *
     * @param {(draft: DraftWrites) => void | Promise<void>} build
     * @throws {PostlineError} `store_unusable`: nothing is written.
     */
    transact(build: (draft: DraftWrites) => void | Promise<void>): Promise<void>;
    /**
     * Takes the writes of another tab, which it has stored.
     *
     * @param {Write[]} writes
     */
    receive(writes: Write[]): Promise<void>;
    /** Resolves once all writes so far are done or have failed. */
    settled(): Promise<void>;
    /**
     * Runs an action while no other reads or writes.
     *
     * @param {() => Promise<void>} action
     * @returns {Promise<void>}
     */
    alone(action: () => Promise<void>): Promise<void>;
    #private;
}
export type Write = import('./storage.js').Write;
export type Changes = import('../types.js').Changes;
import { Mirror } from "./mirror.js";
import { PostlineError } from "./errors.js";
import { DraftWrites } from "./draft-writes.js";
