/**
 * Returns a storage on files, for bots and other programs in Node. A write that has resolved survives the end of the
 * process and of the system.
 *
 * One process at a time uses a folder: for a second one, `client.ready` and `signIn` throw `store_unusable`. Within a
 * process several clients may share it, one after another. Only the files' owner can read them, because they contain
 * tokens.
 *
 * @param {string} folder The folder's path. It is created if it is missing.
 * @returns {import('../src/storage.js').Storage}
 */
export function fileStorage(folder: string): import('../src/storage.js').Storage;
export type Database = import('../src/storage.js').Database;
