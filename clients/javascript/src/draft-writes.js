/** @typedef {import('./storage.js').Write} Write */
/** @typedef {import('./storage.js').Table} Table */
/** @typedef {Exclude<Table, 'message'>} MirroredTable */

/** The writes of one transaction while they are made. Reads see them. */
export class DraftWrites {
  /** @type {Map<string, { table: Table, key: string, value?: any }>} */
  #records = new Map()
  /** @type {{ table: Table, from: string, to: string }[]} */
  #ranges = []

  /**
   * @param {import('./mirror.js').Mirror} mirror
   * @param {import('./storage.js').Database} database
   */
  constructor(mirror, database) {
    this.mirror = mirror
    this.database = database
  }

  /**
   * @param {MirroredTable} table
   * @param {string} key
   * @returns {any}
   */
  get(table, key) {
    const written = this.#records.get(`${table}/${key}`)
    if (!written) return this.mirror[table].get(key)
    return table === 'setting' ? written.value?.value : written.value
  }

  /**
   * @param {Table} table
   * @param {string} key
   * @param {any} value
   */
  put(table, key, value) { this.#records.set(`${table}/${key}`, { table, key, value }) }

  /**
   * @param {Table} table
   * @param {string} key
   */
  delete(table, key) { this.#records.set(`${table}/${key}`, { table, key }) }

  /**
   * @param {string} name
   * @param {any} value
   */
  set(name, value) { this.put('setting', name, { name, value }) }

  /**
   * Deletes the messages of a range.
   *
   * @param {{ from: string, to: string }} range
   */
  deleteMessages({ from, to }) {
    this.#ranges.push({ table: 'message', from, to })
    for (const [name, { table, key }] of this.#records) {
      if (table === 'message' && key >= from && key < to) this.#records.delete(name)
    }
  }

  /**
   * Returns the message with that key if this transaction has written it.
   *
   * @param {string} key
   */
  writtenMessage(key) { return this.#records.get(`message/${key}`)?.value }

  /**
   * Yields the keys of a table with their records.
   *
   * @param {MirroredTable} table
   * @returns {Iterable<[string, any]>}
   */
  * entries(table) {
    for (const [key, value] of this.mirror[table]) if (!this.#records.has(`${table}/${key}`)) yield [key, value]
    for (const record of this.#records.values()) {
      if (record.table === table && record.value !== undefined) yield [record.key, record.value]
    }
  }

  /** @returns {Write[]} */
  get writes() { return [...this.#ranges, ...this.#records.values()] }
}
