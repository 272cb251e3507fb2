/** @typedef {import('./storage.js').Database} Database */
/** @typedef {import('./storage.js').Table} Table */
/**
 * Returns a storage in the browser's IndexedDB, which survives a reload and is shared by tabs. Each user has a database
 * of its own.
 *
 * @param {string} name The common prefix of the databases' names.
 * @param {{ perTab?: boolean }} [options] `perTab` gives each tab a storage of its own, and so a user. It lasts as long
 *   as the tab, and is deleted a week later.
 * @returns {import('./storage.js').Storage}
 */
export function indexedDBStorage(name: string, options?: {
    perTab?: boolean | undefined;
} | undefined): import('./storage.js').Storage;
export type Database = import('./storage.js').Database;
export type Table = import('./storage.js').Table;
