import { deliveredMark } from './apply-changes.js'
import { invalidParams, notSent, PostlineError } from './errors.js'
import { Listeners } from './listeners.js'
import { MessageViews } from './message-views.js'
import { kindOf, messageFile, messageParams } from './file.js'
import { checkEdit, checkIsMessage, checkMessage } from './names.js'
import { messagePicture, pictureOf } from './picture.js'
import { messageRange } from './storage.js'

/** @typedef {import('../types').Message} Message */
/** @typedef {import('../types').Profile} Profile */
/** @typedef {import('./message-views.js').MessageView} MessageView */
/** @typedef {import('./conversation-views.js').ConversationView} ConversationView */
/** @typedef {import('../types').MethodParams['messages.send']} SendParams */
/** @typedef {Omit<SendParams, 'conversation_id' | 'content' | 'client_id'>} SendOptions */
/** @typedef {import('../types').MethodParams['messages.edit']} EditParams */
/** @typedef {Omit<EditParams, 'conversation_id' | 'seq' | 'content'>} EditOptions */
/**
 * What a chat shows. The object and its members stay the same until their content differs.
 *
 * - `conversation`: null if the user is not a member, or before the first sync.
 * - `messages`: the server's by number, followed by unsent ones.
 * - `hasOlder`: true if the device or the server has older messages.
 * - `typing`: the other members who are typing.
 * - `isLoaded`: true once the device's messages are shown.
 *
 * @typedef {object} ChatSnapshot
 * @property {ConversationView | null} conversation
 * @property {readonly MessageView[]} messages
 * @property {boolean} hasOlder
 * @property {readonly Profile[]} typing
 * @property {boolean} isLoaded
 */

/**
 * What a chat needs of its client.
 *
 * @typedef {object} ChatClient
 * @property {Promise<void>} ready
 * @property {(conversationID: string) => Promise<void>} fetchOlder
 * @property {(change: string | null, params: object) => Promise<void>} editUnsent
 * @property {(conversationID: string) => void} messageSent
 * @property {(conversationID: string, isTyping: boolean) => void} setTyping
 * @property {(chat: Chat, isKept: boolean) => void} keep
 */

const pageSize = 50

/** @type {ChatSnapshot} */
const emptySnapshot = Object.freeze({
  conversation: null, messages: Object.freeze([]), hasOlder: false, typing: Object.freeze([]), isLoaded: false,
})

/** The messages of one conversation: the newest, and older ones on demand. `client.chat(id)` returns it. */
export class Chat {
  /** @type {import('./user-data.js').UserData | null} */
  #user = null
  #client
  /**
   * The loaded messages by number.
   *
   * @type {Map<number, import('./apply-reactions.js').StoredMessage>}
   */
  #messages = new Map()
  /** All stored messages from this number on are loaded. */
  #from = Infinity
  /** @type {MessageViews | null} */
  #views = null
  /** @type {Promise<any> | null} */
  #loading = null
  #snapshot = emptySnapshot
  /** @type {Listeners<[]>} */
  #listeners = new Listeners()

  /**
   * @param {string} id
   * @param {ChatClient} client
   */
  constructor(id, client) {
    /** The conversation's id. */
    this.id = id
    this.#client = client
  }

  /** Everything that the chat shows. The object stays the same until its content differs. */
  get snapshot() { return this.#snapshot }

  get conversation() { return this.#snapshot.conversation }

  get messages() { return this.#snapshot.messages }

  get hasOlder() { return this.#snapshot.hasOlder }

  get typing() { return this.#snapshot.typing }

  /** The text that the user typed and has not sent. */
  get draft() { return this.conversation?.draft ?? '' }

  /**
   * Calls a listener after each change. Returns a function that ends this.
   *
   * @param {() => void} listener
   */
  subscribe(listener) {
    const remove = this.#listeners.add(listener)
    this.#client.keep(this, true)
    return () => {
      remove()
      if (!this.#listeners.size) this.#client.keep(this, false)
    }
  }

  /** Resolves once the device's messages are shown. */
  async load() {
    await this.#client.ready
    await this.#loading
  }

  /**
   * Shows the data of a user, or none. The client calls it.
   *
   * @param {import('./user-data.js').UserData | null} user
   */
  attach(user) {
    if (this.#user === user) return
    this.#user = user
    this.#messages.clear()
    this.#from = Infinity
    this.#views = user && new MessageViews(user.messageContext)
    this.#loading = user && this.#read(user).catch(() => {})
    this.update()
  }

  /**
   * Takes the writes of a commit. The client calls it.
   *
   * @param {import('./storage.js').Write[]} writes
   */
  receive(writes) {
    // Until they are read, the database has them all.
    if (this.#from === Infinity) return
    const { from, to } = messageRange(this.id)
    for (const write of writes) {
      if (write.table !== 'message') continue
      if ('from' in write) {
        if (write.from === from) for (const seq of [...this.#messages.keys()]) this.#messages.delete(seq)
      } else if (write.key >= from && write.key < to && write.value) this.#messages.set(write.value.seq, write.value)
    }
    const record = this.#user?.store.mirror.conversation.get(this.id)
    if (!record) return
    // A gap is not shown.
    if (record.first_seq > this.#from) this.#from = record.first_seq
    for (const seq of this.#messages.keys()) if (seq < this.#from) this.#messages.delete(seq)
  }

  /** Makes the snapshot anew. The client calls it when something that the chat shows may differ. */
  update() {
    const snapshot = this.#user && this.#views ? this.#makeSnapshot(this.#user, this.#views) : { ...emptySnapshot }
    const former = this.#snapshot
    const names = /** @type {(keyof ChatSnapshot)[]} */ (Object.keys(emptySnapshot))
    for (const name of /** @type {const} */ (['messages', 'typing'])) {
      if (isSameList(former[name], snapshot[name])) /** @type {any} */ (snapshot)[name] = former[name]
    }
    if (names.every((name) => former[name] === snapshot[name])) return
    this.#snapshot = Object.freeze(snapshot)
    this.#listeners.call()
  }

  /**
   * @param {import('./user-data.js').UserData} user
   * @param {MessageViews} views
   * @returns {ChatSnapshot}
   */
  #makeSnapshot(user, views) {
    const { mirror } = user.store
    const conversation = user.views.get(this.id)
    const others = conversation?.members.filter((member) => member.user_id !== user.id) ?? []
    const lowest = (/** @type {(member: any) => number} */ mark) => others.length ? Math.min(...others.map(mark)) : 0
    const readMark = lowest((member) => member.last_read_seq)
    const messages = [...this.#messages.values()].sort((a, b) => a.seq - b.seq)
    const changes = mirror.change.size ? mirror.changes.filter((change) => change.queue === this.id) : []
    return {
      conversation,
      messages: conversation || changes.length
        ? views.update(messages, changes, readMark, lowest(deliveredMark)) : emptySnapshot.messages,
      hasOlder: conversation !== null && this.#from !== Infinity && this.#from > (conversation.first_seq ?? 1)
        && conversation.last_seq > 0,
      typing: conversation ? (user.typists.snapshot[this.id] ?? []).flatMap((id) => {
        return others.some((member) => member.user_id === id) ? user.views.profile(id) ?? [] : []
      }) : emptySnapshot.typing,
      isLoaded: this.#from !== Infinity,
    }
  }

  /**
   * Shows 50 older messages, from the device or else from the server. Does nothing if there are none.
   *
   * @throws {PostlineError} `offline` if the device has no more and there is no connection.
   */
  async loadOlder() {
    await this.load()
    const user = this.#user
    if (!user || !this.hasOlder) return
    if (!await this.#read(user)) {
      await this.#client.fetchOlder(this.id)
      await this.#read(user)
    }
  }

  /**
   * Shows all messages from a number on, such as that of a quoted message.
   *
   * @param {number} seq
   * @throws {PostlineError} `offline` if the device does not have them and there is no connection.
   */
  async loadFrom(seq) {
    await this.load()
    while (this.#from > seq && this.hasOlder) await this.loadOlder()
  }

  /**
   * Reads the newest messages of the device, or older ones than those that are shown. Returns false if it has none.
   *
   * @param {import('./user-data.js').UserData} user
   */
  async #read(user) {
    const before = this.#from
    await user.store.alone(async () => {
      const first = user.store.mirror.conversation.get(this.id)?.first_seq ?? 1
      if (first >= this.#from) return
      const range = messageRange(this.id, first, this.#from)
      const stored = await user.store.database.read('message', { ...range, limit: pageSize })
      if (this.#user !== user) return
      for (const message of stored) this.#messages.set(message.seq, message)
      // Fewer than a page: these are all.
      this.#from = stored.length < pageSize ? first : stored[0].seq
    })
    if (this.#user === user) this.update()
    return this.#from < before
  }

  /**
   * Sends a message. When this resolves, the message is stored on the device and shown; its `delivery` says if the
   * server has it.
   *
   * @param {string} content 1 to 8,000 characters, or none with an attachment or of the kind `custom`.
   * @param {SendOptions} [options] More params of `messages.send`, such as `reply_to_seq`, `mentions` or `attachments`.
   * @returns {Promise<string>} The message's id.
   * @throws {PostlineError} `invalid_params` for an unknown option, or a content, mentions or data beyond the bounds of
   *   the protocol; `signed_out`, `store_unusable`.
   */
  async send(content, options = {}) {
    checkMessage('send', content, options)
    return this.#queueMessage(messageParams(content, options))
  }

  /**
   * Sends a picture, scaled down to 2,048 pixels. When this resolves, it is stored on the device and shown. Its upload
   * goes on after a reload; `discard` ends it.
   *
   * @param {Blob | import('./picture.js').Picture} file A file, or what `messagePicture` returned for it.
   * @param {SendOptions & { content?: string }} [options]
   * @returns {Promise<string>} The message's id.
   * @throws {PostlineError} `invalid_params` if the file is no picture; `signed_out`, `store_unusable`.
   */
  async sendPicture(file, options = {}) {
    checkMessage('sendPicture', options.content ?? '', options)
    // What is stored is sent after every start, so nothing else may be.
    const picture = await pictureOf(file, messagePicture)
    return this.#queueMessage({ content: '', kind: 'image', ...options }, [picture])
  }

  /**
   * Sends 1 to 10 files of any kind as one message. Pictures are scaled down as by `sendPicture`; to send one as it is,
   * pass `{ blob, type: 'application/octet-stream', name }`. When this resolves, the files are stored on the device and
   * shown. Their upload goes on after a reload, where it was interrupted; `discard` ends it.
   *
   * @param {Iterable<Blob | import('./picture.js').Picture>} files Files, such as those of an input, or what
   *   `messageFile` returned for them.
   * @param {SendOptions & { content?: string }} [options]
   * @returns {Promise<string>} The message's id.
   * @throws {PostlineError} `invalid_params` for another number of files, an empty one or an unknown option;
   *   `signed_out`, `store_unusable`.
   */
  async sendFiles(files, options = {}) {
    checkMessage('sendFiles', options.content ?? '', options)
    const taken = await Promise.all(Array.from(files ?? [], (file) => pictureOf(file, messageFile)))
    if (!taken.length || taken.length > 10 || !taken.every(({ blob }) => blob.size)) {
      throw invalidParams('files', 'sendFiles takes 1 to 10 files that are not empty.')
    }
    return this.#queueMessage({ kind: kindOf(taken[0]), ...options }, taken)
  }

  /**
   * @param {object} params
   * @param {import('./picture.js').Picture[]} [files]
   */
  async #queueMessage(params, files) {
    const user = await this.#requireUser()
    const id = await user.queueMessage(this.id, params, files)
    this.#client.messageSent(this.id)
    return id
  }

  /**
   * Edits one of the user's own messages. One that was written without a connection or that the server refused is sent
   * as edited.
   *
   * @param {MessageView} message
   * @param {string} content
   * @param {EditOptions} [options] Other mentions or data; those that are left out stay.
   * @throws {PostlineError} `not_found` while the message is being sent; `invalid_params`, `signed_out`,
   *   `store_unusable`.
   */
  async edit(message, content, options = {}) {
    checkEdit(message, content, options)
    const params = { content, ...options }
    const { seq, change } = this.#current(message)
    if (seq !== null) return this.#queue('messages.edit', message, params)
    await this.#requireUser()
    await this.#client.editUnsent(change, params)
  }

  /**
   * Sets a reaction of the user to a message, or takes it back.
   *
   * @param {MessageView} message
   * @param {string} emoji
   * @param {boolean} [isSet]
   * @throws {PostlineError} `not_found` if the server does not have the message yet; `invalid_params`, `signed_out`,
   *   `store_unusable`.
   */
  react(message, emoji, isSet = true) { return this.#queue('messages.react', message, { emoji, is_set: isSet }) }

  /**
   * Pins a message for all members, or unpins it. `conversation.pinned_seqs` has the numbers of the pinned ones.
   *
   * @param {{ seq: number | null }} message
   * @param {boolean} [isPinned]
   * @throws {PostlineError} `not_found` if the server does not have the message yet; `invalid_params`, `signed_out`,
   *   `store_unusable`.
   */
  pin(message, isPinned = true) { return this.#queue('messages.pin', message, { is_pinned: isPinned }) }

  /**
   * Returns a message as it is now: it may have been sent since the app got it.
   *
   * @param {any} message
   * @returns {MessageView}
   */
  #current(message) {
    return this.messages.find(({ id }) => id === message.id) ?? message
  }

  /**
   * @param {import('./mirror.js').QueuedMethod} method
   * @param {{ seq: number | null }} message
   * @param {object} params
   */
  async #queue(method, message, params) {
    checkIsMessage(method.replace('messages.', ''), message)
    const user = await this.#requireUser()
    const { seq } = this.#current(message)
    if (seq === null) throw notSent()
    await user.queue(method, this.id, { conversation_id: this.id, seq, ...params })
  }

  /**
   * Deletes a message for all members. One that is not sent yet is discarded.
   *
   * @param {MessageView} message
   * @throws {PostlineError} `signed_out`, `store_unusable`
   */
  async delete(message) {
    checkIsMessage('delete', message)
    const current = this.#current(message)
    if (current.seq === null) return this.discard(current)
    await this.#queue('messages.delete', message, {})
  }

  /**
   * Sends a refused message, edit or deletion again.
   *
   * @param {MessageView} message
   */
  async retry(message) {
    checkIsMessage('retry', message)
    if (message.change) await (await this.#requireUser()).retry(message.change)
  }

  /**
   * Removes an unsent message, or a refused edit or deletion. What is being sent may still be done.
   *
   * @param {MessageView} message
   */
  async discard(message) {
    checkIsMessage('discard', message)
    if (message.change) await (await this.#requireUser()).discard(message.change)
  }

  /**
   * Marks the conversation as read, up to a message or entirely. A mark never goes back.
   *
   * @param {MessageView} [message]
   * @throws {PostlineError} `store_unusable`
   */
  async markRead(message) {
    await this.load()
    const user = this.#user
    // A listener that marks what it shows is also called on sign-out.
    if (!user) return
    const conversation = user.views.get(this.id)
    const seq = message ? message.seq ?? 0 : conversation?.last_seq ?? 0
    if (!conversation) return
    if (seq > conversation.last_read_seq) await user.queueReadMark(this.id, seq)
    else if (conversation.is_marked_unread && !message) await user.queueSettings(this.id, { is_marked_unread: false })
  }

  /**
   * Stores the text that the user typed, on this device only. The other members see that the user is typing.
   *
   * @param {string} content An empty text removes the draft.
   */
  async setDraft(content) {
    if (typeof content !== 'string') throw invalidParams('content', 'setDraft needs a string.')
    const user = await this.#requireUser()
    this.setTyping(content !== '')
    await user.setDraft(this.id, content)
  }

  /**
   * Tells the other members that the user is typing, or has stopped. Call it at every keystroke: no more notices are
   * sent than the server passes on.
   *
   * @param {boolean} isTyping
   */
  setTyping(isTyping) { this.#client.setTyping(this.id, isTyping) }

  async #requireUser() {
    await this.load()
    if (!this.#user) throw new PostlineError('signed_out', 'No user is signed in.')
    return this.#user
  }
}

/**
 * @param {readonly any[]} a
 * @param {readonly any[]} b
 */
function isSameList(a, b) { return a.length === b.length && a.every((each, index) => each === b[index]) }
