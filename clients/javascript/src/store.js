import { applyChanges, recordVersion } from './apply-changes.js'
import { DraftWrites } from './draft-writes.js'
import { PostlineError, storeUnusable } from './errors.js'
import { Mirror } from './mirror.js'

/** @typedef {import('./storage.js').Write} Write */
/** @typedef {import('../types').Changes} Changes */

/** One user's data: a database, its copy in memory, and the only way to write both. */
export class Store {
  mirror = new Mirror()
  #last = Promise.resolve()
  /** @type {Map<string, number>} */
  #olderChanges = new Map()
  /** @type {Partial<Changes>[]} */
  #pending = []
  /** @type {Promise<void> | null} */
  #applying = null
  /**
   * Called after each commit of this tab with its writes.
   *
   * @type {(writes: Write[]) => void}
   */
  onCommit = () => {}
  /**
   * Called after each commit of any tab.
   *
   * @type {(touched: import('./mirror.js').Touched, writes: Write[]) => void}
   */
  onChange = () => {}

  /**
   * Called when the database cannot be read or written.
   *
   * @type {(error: PostlineError) => void}
   */
  onError = () => {}

  /**
   * @param {import('./storage.js').Database} database
   * @param {string} userID
   */
  constructor(database, userID) {
    this.database = database
    this.userID = userID
  }

  /**
   * The cursor of the last changes.
   *
   * @returns {string | undefined}
   */
  get cursor() { return this.mirror.setting.get('cursor') }

  /** True if the records lack members of newer ones, so that a reset must replace them. */
  get isOutdated() { return this.cursor !== undefined && this.mirror.setting.get('record_version') !== recordVersion }

  /** Reads the database. */
  load() { return this.alone(() => this.mirror.load(this.database)) }

  /**
   * Applies changes from the server. Those that arrive while others are written are written together, and announced
   * once.
   *
   * @param {Partial<Changes>} changes
   */
  apply(changes) {
    this.#countOlder(changes)
    this.#pending.push(changes)
    this.#applying ??= this.transact(async (draft) => {
      const pending = this.#pending
      this.#pending = []
      this.#applying = null
      for (const each of pending) await applyChanges(draft, each, { userID: this.userID })
    })
    return this.#applying
  }

  /**
   * The number of changes so far of messages of a conversation that are older than those that are stored. They are not
   * applied. If it grows while a page of older messages is fetched, the page may lack them.
   *
   * @param {string} id
   */
  olderChanges(id) { return this.#olderChanges.get(id) ?? 0 }

  /** @param {Partial<Changes>} changes */
  #countOlder({ messages = [], reactions = [] }) {
    for (const { conversation_id: id, seq } of [...messages, ...reactions]) {
      const held = this.mirror.conversation.get(id)
      if (held && seq < held.first_seq) this.#olderChanges.set(id, this.olderChanges(id) + 1)
    }
  }

  /**
   * Applies the objects of a response.
   *
   * @param {Partial<Changes>} changes
   */
  applyResponse(changes) {
    return this.transact((draft) => applyChanges(draft, changes, { userID: this.userID, isResponse: true }))
  }

  /**
   * Makes writes in one transaction, after all earlier ones.
   *
   * @param {(draft: DraftWrites) => void | Promise<void>} build
   * @throws {PostlineError} `store_unusable`: nothing is written.
   */
  transact(build) {
    return this.alone(async () => {
      const draft = new DraftWrites(this.mirror, this.database)
      await build(draft)
      const { writes } = draft
      if (!writes.length) return
      await this.database.write(writes)
      this.onCommit(writes)
      this.#show(writes)
    })
  }

  /**
   * Takes the writes of another tab, which it has stored.
   *
   * @param {Write[]} writes
   */
  receive(writes) { return this.alone(async () => this.#show(writes)) }

  /** @param {Write[]} writes */
  #show(writes) { this.onChange(this.mirror.apply(writes), writes) }

  /** Resolves once all writes so far are done or have failed. */
  settled() { return this.alone(async () => {}) }

  /**
   * Runs an action while no other reads or writes.
   *
   * @param {() => Promise<void>} action
   * @returns {Promise<void>}
   */
  alone(action) {
    const done = this.#last.then(action).catch((error) => {
      if (error instanceof PostlineError) throw error
      const unusable = storeUnusable(error)
      this.onError(unusable)
      throw unusable
    })
    this.#last = done.catch(() => {})
    return done
  }
}
