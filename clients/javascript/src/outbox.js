import { applyChanges } from './apply-changes.js'
import { Backoff } from './backoff.js'
import { endsSession, PostlineError } from './errors.js'
import { upload } from './upload.js'

/** @typedef {import('./mirror.js').ChangeRecord} ChangeRecord */
/** @typedef {import('./connection.js').Connection} Connection */

/** The queues that are sent at the same time. */
const maxBusyQueues = 16
/** An upload that the store interrupts is repeated so often while there is a connection. */
const maxInterruptions = 3

/**
 * Sends the changes of the outbox over one connection: the queues at the same time, the changes of each in order. A
 * refused change stays and blocks nothing.
 */
export class Outbox {
  /** @type {Set<string>} */
  #busy = new Set()
  /**
   * Messages that the server has, and that the sync will bring.
   *
   * @type {Set<string>}
   */
  #acknowledged = new Set()
  /** @type {Map<string, AbortController>} */
  #uploads = new Map()
  #hasEnded = false

  /**
   * @param {import('./store.js').Store} store
   * @param {Connection} connection
   * @param {Pick<import('./sync-engine.js').EngineOptions, 'onProgress' | 'mediaURL'>} options
   */
  constructor(store, connection, { onProgress, mediaURL }) {
    this.store = store
    this.connection = connection
    this.onProgress = onProgress
    this.mediaURL = mediaURL
    connection.ended.then(() => {
      this.#hasEnded = true
      for (const controller of this.#uploads.values()) controller.abort()
    })
  }

  /** Sends what waits. Call it after each change of the outbox. */
  wake() {
    for (const [key, controller] of this.#uploads) if (!this.store.mirror.change.has(key)) controller.abort()
    for (const change of this.store.mirror.changes) {
      if (this.#hasEnded || this.#busy.size >= maxBusyQueues) return
      const queue = queueOf(change)
      if (this.#busy.has(queue) || !this.#isDue(change)) continue
      this.#busy.add(queue)
      this.#send(queue).catch((error) => this.connection.close(error.message)).finally(() => {
        this.#busy.delete(queue)
        if (!this.#hasEnded) this.wake()
      })
    }
  }

  /** @param {ChangeRecord} change */
  #isDue({ key, refusal }) { return !refusal && !this.#acknowledged.has(key) }

  /**
   * Sends the changes of a queue.
   *
   * @param {string} queue
   * @throws {PostlineError} `store_unusable`
   */
  async #send(queue) {
    const backoff = new Backoff()
    let interruptions = 0
    /** @type {ChangeRecord | undefined} */
    let change
    while (!this.#hasEnded
      && (change = this.store.mirror.changes.find((each) => queueOf(each) === queue && this.#isDue(each)))) {
      try {
        if (change.picture && !change.params.attachment) await this.#upload(change)
        else await this.#perform(change)
        backoff.reset()
      } catch (error) {
        if (this.#hasEnded) return
        // A discarded upload.
        if (!(error instanceof PostlineError)) continue
        if (error.code === 'offline') return
        if (error.code === 'store_unusable') throw error
        if (endsSession(error) || error.code === 'unauthenticated' || error.code === 'token_expired') {
          return this.connection.close(error.message)
        }
        if (change.picture && error.code === 'unavailable') interruptions += 1
        if (isTemporary(error) && interruptions < maxInterruptions) await this.#pause(error, backoff)
        else await this.#refuse(change, error)
      }
    }
  }

  /** @param {ChangeRecord} change */
  async #perform({ key, method, params }) {
    const result = await this.connection.call(method, params)
    const changes = objectsOf(method, result)
    await this.store.transact(async (draft) => {
      await applyChanges(draft, changes, { userID: this.store.userID, isResponse: true })
      // A message that is ahead of the sync stays in the outbox until the sync has come so far.
      if (method === 'messages.send') {
        if (draft.get('change', key)) this.#acknowledged.add(key)
      } else draft.delete('change', key)
    })
  }

  /** @param {ChangeRecord} change */
  async #upload({ key, picture, params }) {
    if (!picture) return
    const controller = new AbortController()
    this.#uploads.set(key, controller)
    try {
      const id = await upload((method, given) => this.connection.call(method, given), picture, {
        purpose: 'message', conversationID: params.conversation_id, signal: controller.signal,
        mediaURL: this.mediaURL, onProgress: (part) => this.onProgress(key, part),
      })
      const attachment = {
        media_id: id, mime_type: picture.type, bytes: picture.blob.size,
        ...(picture.width && { width: picture.width, height: picture.height }),
      }
      await this.#update(key, (change) => ({ ...change, params: { ...change.params, attachment } }))
    } finally {
      this.#uploads.delete(key)
    }
  }

  /**
   * @param {ChangeRecord} change
   * @param {PostlineError} error
   */
  #refuse({ key, picture }, error) {
    return this.#update(key, (change) => {
      // A picture is used once. It is uploaded again with the next attempt.
      const { attachment, ...params } = change.params
      return { ...change, params: picture ? params : change.params, refusal: error.toJSON() }
    })
  }

  /**
   * @param {string} key
   * @param {(change: ChangeRecord) => ChangeRecord} update
   */
  #update(key, update) {
    return this.store.transact((draft) => {
      const change = draft.get('change', key)
      // It may have been discarded.
      if (change) draft.put('change', key, update(change))
    })
  }

  /**
   * @param {PostlineError} error
   * @param {Backoff} backoff
   */
  async #pause({ retryAfter }, backoff) {
    const wait = backoff.next()
    /** @type {any} */
    let timer
    await Promise.race([this.connection.ended, new Promise((resolve) => {
      timer = setTimeout(resolve, retryAfter === undefined ? wait : Math.min(Math.max(retryAfter, 0.5), 300) * 1000)
    })])
    clearTimeout(timer)
  }
}

/**
 * A picture does not hold up the texts after it.
 *
 * @param {ChangeRecord} change
 */
function queueOf({ queue, picture }) { return picture ? `${queue}/pictures` : queue }

/** @param {PostlineError} error */
function isTemporary({ code }) { return code === 'rate_limited' || code === 'unavailable' || code === 'timeout' }

/**
 * Returns the objects of a method's result as changes, for the methods that return some.
 *
 * @param {string} method
 * @param {any} result
 * @returns {Partial<import('../types').Changes>}
 */
export function objectsOf(method, result) {
  if (method === 'messages.mark_read') return { reads: [result] }
  if (/^messages\.(send|edit|delete)$/.test(method)) return { messages: [result] }
  if (method === 'messages.list') return result
  if (method === 'messages.react') return { reactions: [result] }
  if (method.startsWith('me.') && result.preferences) return { me: result }
  if (!method.startsWith('conversations.') && method !== 'messages.pin') return {}
  if (result.left === true) return { left: [result.conversation_id] }
  if (!result.members) return {}
  const { profiles, ...conversation } = result
  return { conversations: [conversation], profiles: profiles ?? [] }
}
