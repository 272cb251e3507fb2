/** @typedef {import('./storage.js').Write} Write */
/** @typedef {import('./storage.js').Table} Table */
/** @typedef {Exclude<Table, 'message'>} MirroredTable */
/** The writes of one transaction while they are made. Reads see them. */
export class DraftWrites {
    /**
     * @param {import('./mirror.js').Mirror} mirror
     * @param {import('./storage.js').Database} database
     */
    constructor(mirror: import('./mirror.js').Mirror, database: import('./storage.js').Database);
    mirror: import("./mirror.js").Mirror;
    database: import("./storage.js").Database;
    /**
     * @param {MirroredTable} table
     * @param {string} key
     * @returns {any}
     */
    get(table: MirroredTable, key: string): any;
    /**
     * @param {Table} table
     * @param {string} key
     * @param {any} value
     */
    put(table: Table, key: string, value: any): void;
    /**
     * @param {Table} table
     * @param {string} key
     */
    delete(table: Table, key: string): void;
    /**
     * @param {string} name
     * @param {any} value
     */
    set(name: string, value: any): void;
    /**
     * Deletes the messages of a range.
     *
     * @param {{ from: string, to: string }} range
     */
    deleteMessages({ from, to }: {
        from: string;
        to: string;
    }): void;
    /**
     * Returns the message with that key if this transaction has written it.
     *
     * @param {string} key
     */
    writtenMessage(key: string): any;
    /**
     * Yields the keys of a table with their records.
     *
     * @param {MirroredTable} table
     * @returns {Iterable<[string, any]>}
     */
    entries(table: MirroredTable): Iterable<[string, any]>;
    /** @returns {Write[]} */
    get writes(): import("./storage.js").Write[];
    #private;
}
export type Write = import('./storage.js').Write;
export type Table = import('./storage.js').Table;
export type MirroredTable = Exclude<Table, 'message'>;
