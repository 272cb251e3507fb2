import {
  closeSync, constants, fdatasync, fsyncSync, ftruncateSync, openSync, readFileSync, renameSync, rmSync,
  write as writeBytes,
} from 'node:fs'
import { dirname } from 'node:path'
import process from 'node:process'
import { promisify } from 'node:util'
import { MemoryDatabase } from '../src/memory-storage.js'
import { decodeLine, encodeLine } from './journal-line.js'

/** @typedef {import('../src/storage.js').Database} Database */
/** @typedef {import('../src/storage.js').Write} Write */

/** A smaller journal is not compacted. */
const minCompacted = 1024 * 1024
/** The records of a line in a compacted journal. */
const recordsPerLine = 100

const flush = promisify(fdatasync)
const writeSome = promisify(writeBytes)

/**
 * A database in memory, and a journal of its writes in a file. Each write is a line with a checksum, so that a line of
 * which the end is missing does not count. A journal that is longer than twice its records is compacted to a new file.
 *
 * @implements {Database}
 */
export class JournalDatabase {
  #path
  #file
  #memory = new MemoryDatabase()
  /** The bytes that count. Those after them are of a write that failed. */
  #size = 0
  /** The size from which the journal is compacted. The first time it is not known how much of it is records. */
  #maxSize = minCompacted
  /** @type {Error | null} */
  #failure = null
  /** @type {Promise<any>} */
  #last = Promise.resolve()

  /**
   * Opens or creates a database.
   *
   * @param {string} path
   * @throws {Error} if the file is damaged. A line without its end is no damage.
   */
  constructor(path) {
    this.#path = path
    rmSync(`${path}.new`, { force: true })
    this.#file = openSync(path, constants.O_RDWR | constants.O_CREAT, 0o600)
    try {
      this.#load()
      syncFolder(path)
    } catch (error) {
      this.close()
      throw error
    }
  }

  #load() {
    const bytes = readFileSync(this.#path)
    for (let end; (end = bytes.indexOf(10, this.#size)) >= 0; this.#size = end + 1) {
      const writes = decodeLine(bytes.toString('utf8', this.#size, end))
      if (!writes) break
      this.#memory.apply(writes)
    }
    if (this.#size === bytes.length) return
    // Only the last line can lack its end. A valid one after it means that the file was changed by something else.
    for (let start = this.#size, end; (end = bytes.indexOf(10, start)) >= 0; start = end + 1) {
      if (decodeLine(bytes.toString('utf8', start, end))) {
        throw new Error(`The file ${this.#path} is damaged at byte ${this.#size}.`)
      }
    }
    ftruncateSync(this.#file, this.#size)
    fsyncSync(this.#file)
  }

  /**
   * @param {import('../src/storage.js').Table} table
   * @param {import('../src/storage.js').Range} [range]
   */
  read(table, range) { return this.#memory.read(table, range) }

  /**
   * Resolves once the writes are on the disk.
   *
   * @param {Write[]} writes
   * @returns {Promise<void>}
   */
  write(writes) {
    return this.#alone(async () => {
      if (!writes.length) return
      await this.#append(await encodeLine(writes))
      this.#memory.apply(writes)
      // A deleted setting may be a session, whose tokens do not stay in the file.
      const deletesSetting = writes.some((each) => each.table === 'setting' && !('from' in each)
        && each.value === undefined)
      if (this.#size > this.#maxSize || deletesSetting) await this.#compact()
    })
  }

  /** @param {Uint8Array} line */
  async #append(line) {
    if (this.#failure) throw this.#failure
    try {
      await writeAll(this.#file, line, this.#size)
      await flush(this.#file)
    } catch (error) {
      // What failed must not be there after a restart.
      this.#truncate(this.#size)
      throw error
    }
    this.#size += line.length
  }

  /**
   * @param {number} size
   * @throws {Error} if it is not known what the file has. Then nothing is written any more.
   */
  #truncate(size) {
    try {
      ftruncateSync(this.#file, size)
      fsyncSync(this.#file)
    } catch (error) {
      this.#failure = /** @type {Error} */ (error)
      throw error
    }
  }

  /** Writes the records to a new file in place of the journal. If that fails, the journal goes on. */
  async #compact() {
    const path = `${this.#path}.new`
    let size = 0
    /** @type {number | null} */
    let file = null
    try {
      file = openSync(path, 'w', 0o600)
      /** @type {Write[]} */
      let writes = []
      const finishLine = async (/** @type {number} */ target) => {
        if (!writes.length) return
        const line = await encodeLine(writes)
        await writeAll(target, line, size)
        size += line.length
        writes = []
      }
      for (const write of recordsOf(this.#memory)) {
        writes.push(write)
        if (writes.length === recordsPerLine) await finishLine(file)
      }
      await finishLine(file)
      await flush(file)
      renameSync(path, this.#path)
    } catch {
      if (file !== null) closeSync(file)
      rmSync(path, { force: true })
      this.#maxSize = 2 * this.#size
      return
    }
    closeSync(this.#file)
    this.#file = file
    this.#size = size
    this.#maxSize = Math.max(minCompacted, 2 * size)
    try {
      syncFolder(this.#path)
    } catch (error) {
      // After a crash of the system the former file might be back, without the writes from now on.
      this.#failure = /** @type {Error} */ (error)
    }
  }

  /** Deletes all records. */
  erase() {
    return this.#alone(async () => {
      if (this.#failure) throw this.#failure
      this.#truncate(0)
      this.#size = 0
      await this.#memory.erase()
    })
  }

  /** Resolves once all writes so far are done or have failed. */
  settled() { return this.#alone(async () => {}) }

  /** Closes the file. Call it once all writes are done. */
  close() { closeSync(this.#file) }

  /**
   * Runs an action after those before it.
   *
   * @param {() => Promise<void>} action
   * @returns {Promise<void>}
   */
  #alone(action) {
    const done = this.#last.then(action)
    this.#last = done.catch(() => {})
    return done
  }
}

/**
 * @param {number} file
 * @param {Uint8Array} bytes
 * @param {number} position
 */
async function writeAll(file, bytes, position) {
  for (let written = 0; written < bytes.length;) {
    const { bytesWritten } = await writeSome(file, bytes, written, bytes.length - written, position + written)
    written += bytesWritten
  }
}

/**
 * Lets the names of a file's folder survive a crash of the system. Windows cannot open folders.
 *
 * @param {string} path
 */
function syncFolder(path) {
  if (process.platform === 'win32') return
  const folder = openSync(dirname(path), 'r')
  try {
    fsyncSync(folder)
  } finally {
    closeSync(folder)
  }
}

/**
 * Yields all records of a database.
 *
 * @param {MemoryDatabase} database
 */
function* recordsOf({ groups }) {
  for (const [name, group] of groups) {
    const table = /** @type {import('../src/storage.js').Table} */ (name.split('/', 1)[0])
    for (const [key, value] of group) yield { table, key, value }
  }
}
