import { isWithin } from './storage.js'

/** @typedef {import('./storage.js').Database} Database */
/** @typedef {import('./storage.js').Table} Table */

/**
 * Returns a storage that lasts as long as the process. Several clients may share it, one after another.
 *
 * @returns {import('./storage.js').Storage}
 */
export function memoryStorage() {
  /** @type {Map<string, MemoryDatabase>} */
  const databases = new Map()
  return {
    name: 'memory',
    isShared: false,
    async open(name) {
      const database = databases.get(name) ?? new MemoryDatabase()
      databases.set(name, database)
      return database
    },
  }
}

/** @implements {Database} */
export class MemoryDatabase {
  /**
   * The records by group and key. The messages of a conversation are a group, so that reading them does not visit all.
   *
   * @type {Map<string, Map<string, any>>}
   */
  groups = new Map()

  /**
   * @param {Table} table
   * @param {import('./storage.js').Range} [range]
   * @returns {Promise<any[]>}
   */
  async read(table, range = {}) {
    const { from = '', limit = Infinity } = range
    const name = groupName(table, from)
    const groups = from.includes('/') ? [name] : [...this.groups.keys()].filter((each) => each.startsWith(name))
    const entries = groups.flatMap((each) => [...this.groups.get(each) ?? []])
      .filter(([key]) => isWithin(key, range))
      .sort(([a], [b]) => (a < b ? -1 : 1))
    // A copy, as from a disk: what the reader changes is not stored.
    return entries.slice(-limit).map(([, value]) => copy(value))
  }

  /**
   * @param {import('./storage.js').Write[]} writes
   * @returns {Promise<void>}
   */
  async write(writes) { this.apply(writes) }

  /**
   * Applies writes at once.
   *
   * @param {import('./storage.js').Write[]} writes
   */
  apply(writes) {
    for (const write of writes) {
      const name = groupName(write.table, 'from' in write ? write.from : write.key)
      const group = this.groups.get(name) ?? new Map()
      this.groups.set(name, group)
      if ('from' in write) {
        for (const key of [...group.keys()]) if (key >= write.from && key < write.to) group.delete(key)
      } else if (write.value === undefined) {
        group.delete(write.key)
      } else {
        group.set(write.key, write.value)
      }
    }
  }

  async erase() { this.groups.clear() }

  close() {}
}

/**
 * @param {string} table
 * @param {string} key
 */
function groupName(table, key) { return `${table}/${key.slice(0, key.indexOf('/') + 1)}` }

/** @param {any} value */
function copy(value) { return typeof structuredClone === 'function' ? structuredClone(value) : value }
