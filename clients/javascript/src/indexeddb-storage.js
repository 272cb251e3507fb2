import { keyRange, packName, PackedTable } from './packed-table.js'
import { isWithin, tables } from './storage.js'
import { tabDatabaseName } from './tab-database-name.js'

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
export function indexedDBStorage(name, options = {}) {
  const prefix = options.perTab ? tabDatabaseName(name) : name
  return {
    name: prefix,
    isShared: true,
    async open(database) { return new IndexedDBDatabase(await open(`${prefix}/${database}`)) },
  }
}

/**
 * @param {string} name
 * @returns {Promise<IDBDatabase>}
 */
function open(name) {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open(name, 1)
    request.onupgradeneeded = () => {
      for (const table of [...tables, packName]) request.result.createObjectStore(table)
    }
    request.onsuccess = () => {
      // Another tab that deletes the database does not wait for this one.
      request.result.onversionchange = () => request.result.close()
      resolve(request.result)
    }
    request.onerror = () => reject(request.error)
  })
}

/** @implements {Database} */
class IndexedDBDatabase {
  #database
  /**
   * The tables that are read as a whole.
   *
   * @type {Map<string, PackedTable>}
   */
  #packed

  /** @param {IDBDatabase} database */
  constructor(database) {
    this.#database = database
    const names = ['conversation', 'profile', 'presence']
    this.#packed = new Map(names.map((name) => [name, new PackedTable(name, database)]))
  }

  /**
   * @param {Table} table
   * @param {import('./storage.js').Range} [range]
   * @returns {Promise<any[]>}
   */
  async read(table, range = {}) {
    const { from, to, limit = Infinity } = range
    const packed = this.#packed.get(table)
    if (packed) {
      const { keys, values } = await packed.read()
      return values.filter((_value, index) => isWithin(keys[index], range)).slice(-limit)
    }
    const store = this.#database.transaction(table).objectStore(table)
    const bounds = keyRange(from, to)
    if (limit === Infinity) return valuesOf(table, await result(store.getAll(bounds)))
    // `getAll` has no direction: of all keys the last are found, and then only their values are read.
    const keys = /** @type {string[]} */ (await result(store.getAllKeys(bounds))).slice(-limit)
    return keys.length ? valuesOf(table, await result(store.getAll(keyRange(keys[0], to)))) : []
  }

  /**
   * @param {import('./storage.js').Write[]} writes
   * @returns {Promise<void>}
   */
  write(writes) {
    if (!writes.length) return Promise.resolve()
    return new Promise((resolve, reject) => {
      // Not flushed to the disk: that costs 10 ms or more per write, and only a crash of the system would need it.
      const transaction = this.#database.transaction(
        [...new Set(writes.map(({ table }) => table))], 'readwrite', { durability: 'relaxed' })
      transaction.oncomplete = () => {
        resolve()
        for (const table of this.#packed.values()) table.packIfDue()
      }
      transaction.onabort = () => reject(transaction.error)
      try {
        for (const write of writes) {
          const store = transaction.objectStore(write.table)
          const packed = this.#packed.get(write.table)
          if ('from' in write) store.delete(keyRange(write.from, write.to))
          else if (packed) packed.write(transaction, write.key, write.value)
          else if (write.value === undefined) store.delete(write.key)
          else store.put(write.table === 'message' ? JSON.stringify(write.value) : write.value, write.key)
        }
      } catch (error) {
        // A value that cannot be stored.
        transaction.abort()
        reject(error)
      }
    })
  }

  erase() {
    return new Promise((/** @type {(value?: any) => void} */ resolve, reject) => {
      const names = [...tables, packName]
      const transaction = this.#database.transaction(names, 'readwrite')
      transaction.oncomplete = () => resolve()
      transaction.onabort = () => reject(transaction.error)
      for (const name of names) transaction.objectStore(name).clear()
    })
  }

  close() { this.#database.close() }
}

/**
 * Messages are stored as JSON: writing 1,000 takes half the time that the browser's copies of objects take.
 *
 * @param {Table} table
 * @param {any[]} values
 */
function valuesOf(table, values) { return table === 'message' ? values.map((value) => JSON.parse(value)) : values }

/**
 * @template Value
 * @param {IDBRequest<Value>} request
 * @returns {Promise<Value>}
 */
function result(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error)
  })
}
