/**
 * Returns a key that sorts by conversation and number.
 *
 * @param {string} conversationID
 * @param {number} seq
 */
export function messageKey(conversationID: string, seq: number): string;
/**
 * Returns the range of a conversation's messages with `from <= seq < to`.
 *
 * @param {string} conversationID
 * @param {number} [from]
 * @param {number} [to]
 */
export function messageRange(conversationID: string, from?: number | undefined, to?: number | undefined): {
    from: string;
    to: string;
};
/**
 * Returns true if a range has a key.
 *
 * @param {string} key
 * @param {Range} range
 */
export function isWithin(key: string, { from, to }: Range): boolean;
/**
 * The tables of a database: named sets of records with a text as key. `message` has keys of `messageKey`.
 *
 * @typedef {'setting' | 'conversation' | 'profile' | 'presence' | 'message' | 'change' | 'draft'} Table
 */
/**
 * A write: `value` replaces the record with that key, or `undefined` deletes it; with `from` and `to` all records with
 * `from <= key < to` are deleted.
 *
 * @typedef {{ table: Table, key: string, value?: any } | { table: Table, from: string, to: string }} Write
 */
/**
 * The records to read, in the order of their keys: `from <= key < to`, with `limit` only the last ones.
 *
 * @typedef {{ from?: string, to?: string, limit?: number }} Range
 */
/**
 * One user's data on the device, or the device's own.
 *
 * @typedef {object} Database
 * @property {(table: Table, range?: Range) => Promise<any[]>} read Returns the values in the order of their keys.
 * @property {(writes: Write[]) => Promise<void>} write Applies all writes in order, or none, also if the process ends.
 * @property {() => Promise<void>} erase Deletes all records.
 * @property {() => void} close
 */
/**
 * A place for databases. `memoryStorage`, `indexedDBStorage` and, in Node, `fileStorage` are implementations; an app
 * may bring its own, such as over SQLite in React Native.
 *
 * @typedef {object} Storage
 * @property {string} name The name by which tabs of a browser recognize the same storage.
 * @property {boolean} isShared True if other tabs see the same data.
 * @property {boolean} [isRequired] True if the client must not use memory in its place. A second process of a bot would
 *   answer what the first one answers. If the storage cannot be opened, `ready` throws `store_unusable`.
 * @property {(name: string) => Promise<Database>} open Opens a database, which is created if it is missing.
 */
/** @type {Table[]} */
export const tables: Table[];
/**
 * The tables of a database: named sets of records with a text as key. `message` has keys of `messageKey`.
 */
export type Table = 'setting' | 'conversation' | 'profile' | 'presence' | 'message' | 'change' | 'draft';
/**
 * A write: `value` replaces the record with that key, or `undefined` deletes it; with `from` and `to` all records with
 * `from <= key < to` are deleted.
 */
export type Write = {
    table: Table;
    key: string;
    value?: any;
} | {
    table: Table;
    from: string;
    to: string;
};
/**
 * The records to read, in the order of their keys: `from <= key < to`, with `limit` only the last ones.
 */
export type Range = {
    from?: string;
    to?: string;
    limit?: number;
};
/**
 * One user's data on the device, or the device's own.
 */
export type Database = {
    /**
     * Returns the values in the order of their keys.
     */
    read: (table: Table, range?: Range) => Promise<any[]>;
    /**
     * Applies all writes in order, or none, also if the process ends.
     */
    write: (writes: Write[]) => Promise<void>;
    /**
     * Deletes all records.
     */
    erase: () => Promise<void>;
    close: () => void;
};
/**
 * A place for databases. `memoryStorage`, `indexedDBStorage` and, in Node, `fileStorage` are implementations; an app
 * may bring its own, such as over SQLite in React Native.
 */
export type Storage = {
    /**
     * The name by which tabs of a browser recognize the same storage.
     */
    name: string;
    /**
     * True if other tabs see the same data.
     */
    isShared: boolean;
    /**
     * True if the client must not use memory in its place. A second process of a bot would
     * answer what the first one answers. If the storage cannot be opened, `ready` throws `store_unusable`.
     */
    isRequired?: boolean | undefined;
    /**
     * Opens a database, which is created if it is missing.
     */
    open: (name: string) => Promise<Database>;
};
