import { ConversationViews } from './conversation-views.js'
import { invalidParams, notSent, PostlineError } from './errors.js'
import { filesOf } from './mirror.js'
import { ObjectURLs } from './object-urls.js'
import { Store } from './store.js'
import { Typists } from './typists.js'
import { uuid } from './uuid.js'

/** @typedef {import('../types').Me} Me */
/** @typedef {import('./mirror.js').ChangeRecord} ChangeRecord */
/** @typedef {import('./chat.js').Chat} Chat */
/** @typedef {Omit<import('../types').MethodParams['conversations.set'], 'conversation_id'>} ConversationSettings */
/**
 * A change that the server refused: `fields` are those of the user's own data.
 *
 * @typedef {object} RefusedChange
 * @property {string} change The key for `client.retry` and `client.discard`.
 * @property {ChangeRecord['method']} method
 * @property {string | null} conversation_id
 * @property {string | null} content
 * @property {string | null} kind The kind of a refused message.
 * @property {Record<string, any>} fields
 * @property {PostlineError} error
 * @property {string} created_at
 */

/** One user's data as the app sees it, and the user's changes. */
export class UserData {
  objectURLs = new ObjectURLs()
  /**
   * The uploaded part of the files, by the key of its change.
   *
   * @type {Map<string, number>}
   */
  #progress = new Map()
  #isLive = false
  /** @type {Me | null} */
  me = null
  /** @type {readonly RefusedChange[]} */
  refusedChanges = []
  pendingCount = 0
  pendingMessageCount = 0
  /**
   * Called once after each commit, with the writes.
   *
   * @type {(touched: import('./mirror.js').Touched, writes: import('./storage.js').Write[]) => void}
   */
  onChange = () => {}

  /**
   * @param {import('./storage.js').Database} database
   * @param {string} id
   * @param {(conversationID: string) => void} onTyping Called when other users begin or stop typing.
   */
  constructor(database, id, onTyping) {
    this.id = id
    this.store = new Store(database, id)
    this.views = new ConversationViews(this.store.mirror, id)
    this.typists = new Typists(onTyping)
    /** @type {import('./message-views.js').MessageContext} */
    this.messageContext = {
      userID: id, profile: (user) => this.views.profile(user),
      isBlocked: (message) => this.views.isBlocked(message),
      preview: (key, blob) => this.objectURLs.get(key, blob), sentPreview: (media) => this.objectURLs.sent(media),
      progress: (key) => this.#progress.get(key) ?? null,
    }
    this.store.onChange = (touched, writes) => this.#show(touched, writes)
  }

  /** Reads the stored data. */
  async load() {
    await this.store.load()
    this.#releaseFiles()
    this.views.update({}, this.#isLive)
    this.#updateOwn()
  }

  /**
   * Sets whether changes arrive. Otherwise no user is shown as online or typing.
   *
   * @param {boolean} isLive
   */
  setLive(isLive) {
    if (this.#isLive === isLive) return
    this.#isLive = isLive
    if (!isLive) this.typists.clear()
    const { presence } = this.store.mirror
    const users = new Set([...presence].filter(([, { value }]) => value.is_online).map(([id]) => id))
    if (users.size) this.views.update({ conversations: new Set(), users }, isLive)
  }

  /**
   * Returns a user's presence, or null if it is unknown.
   *
   * @param {string} userID
   */
  presence(userID) { return this.views.presence(userID, this.#isLive) }

  /**
   * Returns true if the chat may differ.
   *
   * @param {string} key
   * @param {number} part
   * @returns {string | undefined}
   */
  setProgress(key, part) {
    this.#progress.set(key, part)
    return this.store.mirror.change.get(key)?.queue
  }

  /** @type {Map<string, ChangeRecord>} */
  #withFiles = new Map()

  /**
   * @param {import('./mirror.js').Touched} touched
   * @param {import('./storage.js').Write[]} writes
   */
  #show(touched, writes) {
    if (touched.me) touched.users.add(this.id)
    if (touched.changes) this.#releaseFiles()
    this.views.update(touched, this.#isLive)
    if (touched.changes || touched.me) this.#updateOwn()
    // A user who has sent a message is no longer typing.
    for (const { conversation_id, sender_id } of touched.news) this.typists.end(conversation_id, sender_id)
    this.onChange(touched, writes)
  }

  #releaseFiles() {
    const { change } = this.store.mirror
    for (const [key, each] of this.#withFiles) {
      if (change.has(key)) continue
      for (const index of filesOf(each).keys()) {
        this.objectURLs.release(`${key}/${index}`, each.params.attachments?.[index].media_id)
      }
      this.#progress.delete(key)
      this.#withFiles.delete(key)
    }
    for (const each of change.values()) if (filesOf(each).length) this.#withFiles.set(each.key, each)
  }

  #updateOwn() {
    const { mirror } = this.store
    const changes = mirror.changes
    const pending = changes.filter(({ refusal }) => !refusal)
    this.pendingCount = pending.length
    this.pendingMessageCount = pending.filter(({ method }) => method === 'messages.send').length
    this.refusedChanges = Object.freeze(changes.flatMap(({ key, method, queue, params, refusal, created_at }) => {
      return !refusal ? [] : {
        change: key, method, conversation_id: queue === 'me' ? null : queue, content: params.content ?? null,
        kind: method === 'messages.send' ? params.kind ?? 'text' : null,
        fields: queue === 'me' ? params : {}, error: PostlineError.fromJSON(refusal), created_at,
      }
    }))
    const edits = changes.filter(({ method, refusal }) => method === 'me.save' && !refusal)
    this.me = edits.reduce((/** @type {Me | null} */ me, { params }) => me && edited(me, params), mirror.serverMe)
  }

  /**
   * Queues a change.
   *
   * @param {import('./mirror.js').QueuedMethod} method
   * @param {string} queue
   * @param {object} params
   */
  queue(method, queue, params) {
    return this.store.transact((draft) => this.#add(draft, { method, queue, params }))
  }

  /**
   * Queues a message, and returns its id. A text is no draft any more.
   *
   * @param {string} conversationID
   * @param {object} params
   * @param {import('./picture.js').Picture[]} [files]
   */
  async queueMessage(conversationID, params, files) {
    const client_id = uuid()
    await this.store.transact((draft) => {
      this.#add(draft, {
        method: 'messages.send', queue: conversationID,
        params: { conversation_id: conversationID, client_id, ...params }, ...files && { files },
        ...!this.#isLive && { isHeld: true },
      })
      if (!files && draft.get('draft', conversationID)) draft.delete('draft', conversationID)
    })
    return client_id
  }

  /**
   * Edits a message in the outbox that the server cannot have: it is held, or refused. It is sent as edited.
   *
   * @param {string | null} key
   * @param {object} params
   * @throws {PostlineError} `not_found` if it is being sent.
   */
  editUnsent(key, params) {
    return this.store.transact((draft) => {
      const change = draft.get('change', key ?? '')
      if (!change?.isHeld && !change?.refusal) throw notSent()
      draft.put('change', change.key, {
        ...change, params: { ...change.params, ...params }, refusal: null, isHeld: true,
      })
    })
  }

  /**
   * Queues a read mark in place of lower ones.
   *
   * @param {string} conversationID
   * @param {number} seq
   */
  queueReadMark(conversationID, seq) {
    return this.store.transact((draft) => {
      for (const [key, { method, queue, refusal }] of draft.entries('change')) {
        if (method === 'messages.mark_read' && queue === conversationID && !refusal) draft.delete('change', key)
      }
      const params = { conversation_id: conversationID, seq }
      this.#add(draft, { method: 'messages.mark_read', queue: conversationID, params })
    })
  }

  /**
   * Queues settings of a conversation that only the user sees.
   *
   * @param {string} conversationID
   * @param {ConversationSettings} settings
   */
  queueSettings(conversationID, settings) {
    const set = Object.fromEntries(Object.entries(settings).filter(([, value]) => typeof value === 'boolean'))
    return this.queue('conversations.set', conversationID, { conversation_id: conversationID, ...set })
  }

  /**
   * @param {string} conversationID
   * @param {string} content
   */
  setDraft(conversationID, content) {
    return this.store.transact((draft) => {
      if (content === (draft.get('draft', conversationID)?.content ?? '')) return
      if (content) draft.put('draft', conversationID, { id: conversationID, content })
      else draft.delete('draft', conversationID)
    })
  }

  /**
   * Sends a refused change again.
   *
   * @param {string} key
   */
  retry(key) {
    return this.store.transact((draft) => {
      const change = draft.get('change', key)
      if (change) draft.put('change', key, { ...change, refusal: null })
    })
  }

  /**
   * Removes a change from the outbox.
   *
   * @param {string} key
   */
  discard(key) { return this.store.transact((draft) => draft.delete('change', key)) }

  /**
   * @param {import('./draft-writes.js').DraftWrites} draft
   * @param {Pick<ChangeRecord, 'method' | 'queue' | 'params' | 'files' | 'isHeld'>} change
   */
  #add(draft, change) {
    const now = new Date()
    // Keys sort by time, also if the clock was set back.
    let time = now.getTime()
    for (const [key] of draft.entries('change')) time = Math.max(time, Number.parseInt(key, 10) + 1)
    const key = `${String(time).padStart(15, '0')}-${uuid().slice(0, 8)}`
    // The precision of the server's times, so that texts compare.
    const created_at = now.toISOString().replace('Z', '000Z')
    draft.put('change', key, { key, refusal: null, created_at, ...change, params: plain(change.params) })
  }

  close() {
    this.typists.clear()
    this.objectURLs.clear()
    this.store.onChange = this.store.onCommit = () => {}
    this.store.settled().then(() => this.store.database.close(), () => {})
  }
}

/**
 * Returns a copy of params as JSON has it, since what is stored must be sent after every start.
 *
 * @param {any} params
 * @throws {PostlineError} `invalid_params` if JSON cannot have it.
 */
function plain(params) {
  let text
  try {
    text = JSON.stringify(params)
  } catch {
    // It contains itself.
  }
  if (!text?.startsWith('{')) throw invalidParams(undefined, 'The fields of a change must be an object of JSON.')
  return JSON.parse(text)
}

/**
 * @param {Me} me
 * @param {any} params
 * @returns {Me}
 */
function edited(me, { avatar, physical, preferences, if_version, ...fields }) {
  const merged = { ...me.preferences, ...preferences }
  for (const [name, value] of Object.entries(merged)) if (value === null) delete merged[name]
  return {
    ...me, ...fields, preferences: preferences === null ? {} : merged, physical: { ...me.physical, ...physical },
    ...avatar && {
      avatar_type: avatar.avatar_type, avatar_id: avatar.avatar_id ?? null, avatar_url: avatar.avatar_url ?? null,
    },
  }
}
