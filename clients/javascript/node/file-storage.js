import { mkdirSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { FolderLock } from './folder-lock.js'
import { JournalDatabase } from './journal-database.js'

/** @typedef {import('../src/storage.js').Database} Database */

/**
 * The open folders of this process by path, so that storages of the same folder share its data and its lock.
 *
 * @type {Map<string, Folder>}
 */
const folders = new Map()

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
export function fileStorage(folder) {
  return {
    name: folder,
    isShared: false,
    isRequired: true,
    async open(name) {
      mkdirSync(folder, { recursive: true, mode: 0o700 })
      const path = realpathSync(folder)
      const shared = folders.get(path) ?? new Folder(path)
      folders.set(path, shared)
      return shared.open(name)
    },
  }
}

/** A folder and its open databases. It is locked while it has any. */
class Folder {
  /** @type {FolderLock | null} */
  #lock = null
  /** @type {Map<string, { database: JournalDatabase, users: number }>} */
  #open = new Map()

  /** @param {string} path */
  constructor(path) { this.path = path }

  /**
   * @param {string} name
   * @returns {Database}
   * @throws {Error} if another process uses the folder, or the file is damaged.
   */
  open(name) {
    try {
      this.#lock ??= new FolderLock(this.path)
      const entry = this.#open.get(name)
        ?? { database: new JournalDatabase(join(this.path, `${encodeURIComponent(name)}.journal`)), users: 0 }
      this.#open.set(name, entry)
      entry.users += 1
      return new FileDatabase(entry.database, () => this.#leave(name, entry))
    } catch (error) {
      this.#unlockIfUnused()
      throw error
    }
  }

  /**
   * @param {string} name
   * @param {{ database: JournalDatabase, users: number }} entry
   */
  async #leave(name, entry) {
    entry.users -= 1
    await entry.database.settled()
    // It may have been opened again, or closed already.
    if (entry.users || this.#open.get(name) !== entry) return
    this.#open.delete(name)
    entry.database.close()
    this.#unlockIfUnused()
  }

  #unlockIfUnused() {
    if (this.#open.size) return
    folders.delete(this.path)
    this.#lock?.release()
    this.#lock = null
  }
}

/**
 * A use of a database, which its opener closes.
 *
 * @implements {Database}
 */
class FileDatabase {
  #database
  /** @type {(() => void) | null} */
  #leave

  /**
   * @param {JournalDatabase} database
   * @param {() => void} leave
   */
  constructor(database, leave) {
    this.#database = database
    this.#leave = leave
  }

  /**
   * @param {import('../src/storage.js').Table} table
   * @param {import('../src/storage.js').Range} [range]
   */
  read(table, range) { return this.#database.read(table, range) }

  /** @param {import('../src/storage.js').Write[]} writes */
  async write(writes) {
    if (!this.#leave) throw new Error('The database is closed.')
    await this.#database.write(writes)
  }

  async erase() {
    if (!this.#leave) throw new Error('The database is closed.')
    await this.#database.erase()
  }

  close() {
    this.#leave?.()
    this.#leave = null
  }
}
