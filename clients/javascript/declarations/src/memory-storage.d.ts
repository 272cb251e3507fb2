/** @typedef {import('./storage.js').Database} Database */
/** @typedef {import('./storage.js').Table} Table */
/**
 * Returns a storage that lasts as long as the process. Several clients may share it, one after another.
 *
 * @returns {import('./storage.js').Storage}
 */
export function memoryStorage(): import('./storage.js').Storage;
/** @implements {Database} */
export class MemoryDatabase implements Database {
    /**
     * The records by group and key. The messages of a conversation are a group, so that reading them does not visit all.
     *
     * @type {Map<string, Map<string, any>>}
     */
    groups: Map<string, Map<string, any>>;
    /**
     * @param {Table} table
     * @param {import('./storage.js').Range} [range]
     * @returns {Promise<any[]>}
     */
    read(table: Table, range?: import("./storage.js").Range | undefined): Promise<any[]>;
    /**
     * @param {import('./storage.js').Write[]} writes
     * @returns {Promise<void>}
     */
    write(writes: import('./storage.js').Write[]): Promise<void>;
    /**
     * Applies writes at once.
     *
     * @param {import('./storage.js').Write[]} writes
     */
    apply(writes: import('./storage.js').Write[]): void;
    erase(): Promise<void>;
    close(): void;
}
export type Database = import('./storage.js').Database;
export type Table = import('./storage.js').Table;
