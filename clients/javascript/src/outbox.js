import { applyChanges } from './apply-changes.js'
import { Backoff } from './backoff.js'
import { endsSession, PostlineError } from './errors.js'
import { filesOf } from './mirror.js'
import { within } from './signal.js'
import { sentName, upload } from './upload.js'

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
        if (change.isHeld) {
          // From now on the server may have it, so it is not edited any more.
          await this.#update(change.key, ({ isHeld, ...sent }) => sent)
          continue
        }
        const { attachments, attachment } = change.params
        if (filesOf(change).length && !attachments && !attachment) await this.#upload(change)
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
        if (filesOf(change).length && error.code === 'unavailable') interruptions += 1
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

  /**
   * Uploads the files of a message, one after another. What was uploaded of them is recorded.
   *
   * @param {ChangeRecord} change
   */
  async #upload(change) {
    const { key, params } = change
    const files = filesOf(change)
    const total = files.reduce((sum, { blob }) => sum + blob.size, 0)
    const controller = new AbortController()
    this.#uploads.set(key, controller)
    /** @type {import('./mirror.js').Uploaded[]} */
    const uploads = files.map((_, index) => ({ ...change.uploads?.[index] }))
    const record = () => this.#update(key, (each) => ({ ...each, uploads: uploads.map((states) => ({ ...states })) }))
    try {
      let done = 0
      for (const [index, file] of files.entries()) {
        for (const part of /** @type {const} */ (['preview', 'file'])) {
          const content = part === 'file' ? file : file.preview
          const state = uploads[index][part] ??= {}
          if (!content || state.id) continue
          state.id = await upload((method, given) => this.connection.call(method, given), content, {
            purpose: 'message', conversationID: params.conversation_id, signal: controller.signal,
            mediaURL: this.mediaURL, begun: state.begun,
            onBegin: (created) => {
              state.begun = created
              return record()
            },
            onProgress: (ratio) => part === 'file' && this.onProgress(key, (done + ratio * file.blob.size) / total),
          })
          await record()
        }
        done += file.blob.size
      }
      const attachments = files.map((file, index) => ({
        media_id: uploads[index].file?.id, mime_type: file.type, bytes: file.blob.size, width: file.width,
        height: file.height, ...sentName(file), duration_ms: file.duration_ms, waveform: file.waveform,
        preview_media_id: uploads[index].preview?.id,
      }))
      await this.#update(key, (each) => ({ ...each, params: { ...each.params, attachments } }))
    } finally {
      this.#uploads.delete(key)
    }
  }

  /**
   * @param {ChangeRecord} change
   * @param {PostlineError} error
   */
  #refuse({ key }, error) {
    return this.#update(key, ({ uploads, ...change }) => {
      if (!filesOf(change).length) return { ...change, refusal: error.toJSON() }
      // A file is used once. Unless the store was the reason, it is uploaded again with the next attempt.
      const { attachments, ...params } = change.params
      const kept = error.code === 'unavailable' && uploads ? { uploads } : {}
      return { ...change, ...kept, params, refusal: error.toJSON() }
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
  #pause({ retryAfter }, backoff) {
    const wait = backoff.next()
    const given = retryAfter === undefined ? wait : Math.min(Math.max(retryAfter, 0.5), 300) * 1000
    return within(given, this.connection.ended)
  }
}

/**
 * A file does not hold up the texts after it.
 *
 * @param {ChangeRecord} change
 */
function queueOf(change) { return filesOf(change).length ? `${change.queue}/pictures` : change.queue }

/** @param {PostlineError} error */
function isTemporary({ code, isRetryable }) { return isRetryable && code !== 'username_cooldown' }

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
