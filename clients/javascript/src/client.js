import { ClientCore } from './client-core.js'
import { check, endsSession, invalidParams, PostlineError } from './errors.js'
import { messageParams } from './file.js'
import { Listeners } from './listeners.js'
import { noIDs } from './mirror.js'
import { checkID, checkKey, checkMessage, checkNames, clientOptions, credentialNames } from './names.js'
import { avatarPicture, pictureOf } from './picture.js'
import { PictureURLs } from './picture-urls.js'
import { requestTokens, signInWith } from './sign-in.js'
import { within } from './signal.js'
import { upload } from './upload.js'
import { uuid } from './uuid.js'

/** @typedef {import('../types').MethodName} MethodName */
/** @typedef {import('../types').MethodParams} MethodParams */
/** @typedef {import('../types').MethodResults} MethodResults */
/** @typedef {import('./tokens.js').Session} Session */
/** @typedef {import('./sync-engine.js').ConnectionState} ConnectionState */
/** @typedef {{ id: string, isGuest: boolean }} Account */
/**
 * @typedef {object} ClientOptions
 * @property {string | URL} url The server, such as `wss://chat.example.com/v1/line`, or `/` on a page of the server.
 * @property {import('./storage.js').Storage} [storage] The place for the data; by default the process's memory.
 * @property {any} [WebSocket] The constructor, where it is not global.
 * @property {import('./tokens.js').AccessTokenProvider} [accessToken] Returns a new access token of an external
 *   account. It is called when the last one has expired.
 * @property {import('./connection.js').ConnectionOptions['onLine']} [onLine] Called with each line, such as for a log.
 *   Lines contain tokens and passwords.
 * @property {boolean} [eraseOnSessionEnd] True to erase the user's data if the server ends the session, such as after
 *   the device was lost.
 * @property {import('./upload.js').MediaURL} [mediaURL] Returns the URL by which the app reads or uploads a picture, if
 *   that is not the server's, or null if it cannot.
 * @property {import('./tabs.js').TabEnvironment} [tabs] What finds other tabs; by default the browser's.
 */
/** The time for the server to end a session on sign-out. Then it ends later. */
const signOutTimeout = 2000
/** The time to send a guest's changes before it is merged. What is left is sent by the account. */
const drainTimeout = 5000

/**
 * The client of a Postline server: the signed-in user, the data to show, and the actions.
 *
 * It shows data from the device at once, also without a network, and syncs them with the server. Changes are stored on
 * the device first and then sent, and the server applies each once. Objects have the members of docs/protocol.md.
 */
export class PostlineClient {
  #core
  /** @type {Listeners<[]>} */
  #listeners = new Listeners()
  /** @type {Listeners<[import('../types').Message]>} */
  #messageListeners = new Listeners()
  #pictureURLs
  #isSigningIn = false
  /** @type {{ list: any, count: number }} */
  #unread = { list: null, count: 0 }

  /**
   * @param {ClientOptions} options
   * @throws {PostlineError} `invalid_params` if an option is unknown, `url` is missing or no URL, or there is no
   *   WebSocket.
   */
  constructor(options) {
    checkNames('PostlineClient', options, clientOptions)
    if (!options.url) throw invalidParams('url', '"url" is missing.')
    this.#core = new ClientCore(options)
    this.#pictureURLs = new PictureURLs((method, params) => this.call(method, params), options.mediaURL)
    this.#core.onChange = () => this.#listeners.call()
    this.#core.onMessage = (message) => this.#messageListeners.call(message)
    /**
     * Resolves once the device's data are shown.
     *
     * @type {Promise<void>}
     */
    this.ready = this.#core.ready
  }

  // The snapshots. Each stays the same until its content differs.

  /** The state of the connection. */
  get state() { return this.#core.state }

  /** The signed-in user, or null. */
  get account() { return this.#core.account }

  /** The user's own data, with edits that are not sent yet. Null before the first sync. */
  get me() { return this.#core.user?.me ?? null }

  /** All conversations, the newest first. */
  get conversations() { return this.#core.user?.views.list ?? noConversations }

  /** The ids of the users whom the user blocks, the first one first. */
  get blocked() { return this.#core.user?.store.mirror.blocked ?? noIDs }

  /** The changes that the server refused, until they are retried or discarded. The oldest is first. */
  get refusedChanges() { return this.#core.user?.refusedChanges ?? noChanges }

  /** The number of changes that wait for the server. */
  get pendingCount() { return this.#core.user?.pendingCount ?? 0 }

  /** The number of messages that wait for the server. */
  get pendingMessageCount() { return this.#core.user?.pendingMessageCount ?? 0 }

  /** The ids of users who are typing, by conversation. */
  get typing() { return this.#core.user?.typists.snapshot ?? noTyping }

  /** The number of unread messages in all conversations. */
  get unreadCount() {
    const list = this.conversations
    if (this.#unread.list !== list) {
      this.#unread = { list, count: list.reduce((sum, { unread_count }) => sum + unread_count, 0) }
    }
    return this.#unread.count
  }

  /** Why the device's storage cannot be used, as on a full disk. Null if it can. */
  get storeError() { return this.#core.storeError }

  /** The server's hello on the current connection, or null. */
  get hello() { return this.#core.engine?.hello ?? null }

  /**
   * Returns true if the client is live and the server has a feature, such as `media`.
   *
   * @param {string} feature
   */
  has(feature) { return this.#core.state.name === 'live' && this.hello?.features.includes(feature) === true }

  /**
   * Returns a conversation, or null if the user is not a member.
   *
   * @param {string} id
   */
  conversation(id) { return this.#core.user?.views.get(id) ?? null }

  /**
   * Returns the newest profile of a user that the device has, or null.
   *
   * @param {string} userID
   */
  profile(userID) { return this.#core.user?.views.profile(userID) ?? null }

  /**
   * Returns a user's presence, or null if it is unknown. Without a connection no user is online.
   *
   * @param {string} userID
   */
  presence(userID) { return this.#core.user?.presence(userID) ?? null }

  /**
   * Calls a listener after each change of a snapshot, once for any number of changes that arrive together. Returns a
   * function that ends this.
   *
   * @param {() => void} listener
   */
  subscribe(listener) { return this.#listeners.add(listener) }

  /**
   * Calls a listener with each message that is new to the user, also with those from the time without a connection, and
   * with the user's own. Messages of the first sync and of a reset are not new. Returns a function that ends this.
   *
   * @param {(message: import('../types').Message) => void} listener
   */
  onMessage(listener) { return this.#messageListeners.add(listener) }

  /**
   * Returns the chat of a conversation. The same conversation has the same object.
   *
   * @param {string} conversationID
   * @throws {PostlineError} `invalid_params` if it is no id.
   */
  chat(conversationID) {
    checkID('conversationID', conversationID)
    return this.#core.chats.get(conversationID, this.#core.user)
  }

  // The account.

  /**
   * Signs in.
   *
   * @param {import('./sign-in.js').Credentials} credentials
   * @returns {Promise<import('./sign-in.js').MergeResult | null>} What a merged guest brought along.
   * @throws {PostlineError} `invalid_credentials`, `email_unconfirmed`, `invalid_token`, `offline`, `rate_limited`;
   *   `invalid_params` for an unknown member; `invalid_request` if a user is signed in.
   */
  async signIn(credentials) {
    checkNames('signIn', credentials, credentialNames)
    const mergesGuest = !('accessToken' in credentials) || credentials.guestAccessToken !== undefined
    return this.#signIn(mergesGuest, (connection, guest) => signInWith(connection, credentials, guest))
  }

  /**
   * Creates a guest, who can use everything and become an account later.
   *
   * @param {{ fullName?: string }} [options]
   */
  async signInAsGuest(options = {}) {
    const { fullName } = options
    const params = fullName ? { full_name: fullName } : {}
    await this.#signIn(false, (connection) => requestTokens(connection, 'auth.guest', params))
  }

  /**
   * Creates an account and signs in to it. A guest becomes the account, with its data.
   *
   * @param {{ email: string, password: string, fullName: string, username?: string }} account
   * @throws {PostlineError} `email_taken`, `username_taken`, `invalid_params`, `email_unconfirmed`, `offline`,
   *   `rate_limited`; `invalid_request` if a user is signed in.
   */
  async register(account) {
    checkNames('register', account, ['email', 'password', 'fullName', 'username'])
    const { email, password, fullName, username } = account
    if (this.#core.account?.isGuest) {
      await this.upgrade({ email, password, fullName })
      if (username) await this.updateProfile({ username })
      return
    }
    const params = { email, password, full_name: fullName, ...username && { username } }
    await this.#signIn(false, (connection) => requestTokens(connection, 'auth.register', params))
  }

  /**
   * Sets a new password with the token of a mail, and signs in.
   *
   * @param {MethodParams['auth.reset_password']} params
   * @throws {PostlineError} `invalid_token`, `invalid_params`, `offline`; `invalid_request` if a user is signed in.
   */
  async resetPassword(params) {
    await this.#signIn(false, (connection) => requestTokens(connection, 'auth.reset_password', params))
  }

  /**
   * Turns the guest into an account with the same id and data.
   *
   * @param {{ email: string, password: string, fullName?: string }} account
   * @throws {PostlineError} `email_taken`, `invalid_params`, `forbidden`, `offline`
   */
  async upgrade({ email, password, fullName }) {
    await this.#core.call('.upgrade', { email, password, ...fullName && { full_name: fullName } })
  }

  /**
   * Signs out. The user's data and unsent changes stay on the device for the next sign-in. Without a connection the
   * device keeps the tokens, only to end the session at the server as soon as that can be reached.
   *
   * @param {{ everywhere?: boolean, erase?: boolean }} [options] `everywhere` ends the sessions on all devices; `erase`
   *   removes the user's data from this one.
   * @throws {PostlineError} `offline`, only with `everywhere`: the user stays signed in.
   */
  async signOut(options = {}) {
    checkNames('signOut', options, ['everywhere', 'erase'])
    const { everywhere = false, erase = false } = options
    await this.ready
    if (!this.#core.session) return
    let isOpen = !everywhere
    if (everywhere) await this.call('auth.logout', { all: true })
    else if (this.#core.state.name === 'live') {
      await within(signOutTimeout, this.call('auth.logout').then(() => { isOpen = false }, (error) => {
        isOpen = !endsSession(error)
      }))
    }
    await this.#core.exclusively(() => this.#core.endSession({ erase, isOpen }))
  }

  /**
   * Deletes the account, and its data on this device.
   *
   * @param {MethodParams['me.delete']} [params] The password, or Apple's identity token; none for a guest.
   */
  async deleteAccount(params = {}) {
    await this.call('me.delete', params)
    await this.#core.exclusively(() => this.#core.endSession({ erase: true }))
  }

  /**
   * Returns an access token for the app's own HTTP requests, valid for a while.
   *
   * @returns {Promise<string>}
   */
  accessToken() { return this.#core.call('.access-token') }

  // The server.

  /**
   * Calls a method of the protocol. Objects in its result are shown at once. Without a user it opens a connection for
   * the call, for methods that need none.
   *
   * @template {MethodName} Method
   * @param {Method} method
   * @param {MethodParams[Method]} [params]
   * @returns {Promise<MethodResults[Method]>}
   * @throws {PostlineError} The server's error, or `offline`: the call may have been done.
   */
  call(method, params) { return this.#core.call(method, params) }

  /** Waits until the device has all changes that the server has now. @throws {PostlineError} `offline` */
  async refresh() { await this.#core.call('.refresh') }

  /**
   * Searches the user's messages on the server for all words of a text, the newest first.
   *
   * @param {string} query 2 to 100 characters. Case and accents do not count, and the last word may be a beginning.
   * @param {{ conversationId?: string, senderId?: string, limit?: number, before?: string }} [options] Only of one
   *   conversation or sender; 1 to 50 results (20); the `next` of the page before.
   * @returns {Promise<MethodResults['messages.search']>} Without messages with `is_blocked`. `is_partial` if the server
   *   ended the search early: `next` continues.
   * @throws {PostlineError} `offline`, `invalid_params`, `not_found`, `rate_limited`
   */
  async searchMessages(query, options = {}) {
    const { conversationId, senderId, ...rest } = options
    const { messages, ...page } = await this.call('messages.search', {
      query, conversation_id: conversationId, sender_id: senderId, ...rest,
    })
    return { messages: messages.filter((message) => !this.isBlocked(message)), ...page }
  }

  /**
   * Opens the direct conversation with a user, and returns its id.
   *
   * @param {string} userID
   */
  async openConversation(userID) {
    return (await this.call('conversations.open', { user_id: userID, profiles: true })).id
  }

  /**
   * Creates a group, and returns its id.
   *
   * @param {string} title
   * @param {string[]} userIDs
   */
  async createGroup(title, userIDs) {
    return (await this.call('conversations.create_group', { title, member_ids: userIDs, profiles: true })).id
  }

  /**
   * Marks a conversation as unread, archives it or pins it to the top, for this user only. When this resolves, the
   * settings are stored on the device and shown.
   *
   * @param {string} conversationID
   * @param {import('./user-data.js').ConversationSettings} settings Those that are left out stay.
   * @throws {PostlineError} `invalid_params` for an unknown member; `signed_out`, `store_unusable`.
   */
  async setConversation(conversationID, settings) {
    checkNames('setConversation', settings, ['is_marked_unread', 'is_archived', 'is_pinned'])
    await this.ready
    await this.#core.requireUser().queueSettings(conversationID, settings)
  }

  /**
   * Blocks a user: neither of the two can write to the other or see the other's presence, and the user's messages in
   * groups have `is_blocked`. When this resolves, `blocked` has the user.
   *
   * @param {string} userID
   * @throws {PostlineError} `not_found`, `offline`, `rate_limited`; `forbidden` with 1,000 blocked users.
   */
  block(userID) { return this.#setBlock('users.block', userID) }

  /**
   * Ends the block of a user.
   *
   * @param {string} userID
   * @throws {PostlineError} `offline`, `rate_limited`
   */
  unblock(userID) { return this.#setBlock('users.unblock', userID) }

  /**
   * Returns true for a message in a group of a user whom the user blocks, such as one of a thread or a pinned one. The
   * messages of chats have it as `is_blocked`.
   *
   * @param {{ conversation_id: string, sender_id: string, kind: string }} message
   */
  isBlocked(message) { return this.#core.user?.views.isBlocked(message) ?? false }

  /**
   * @param {'users.block' | 'users.unblock'} method
   * @param {string} userID
   */
  async #setBlock(method, userID) {
    await this.call(method, { user_id: userID })
    // The answer has the list too, but a later change of another device may have come before it.
    await this.refresh().catch(() => {})
  }

  /**
   * Reports a message of another user, or a user by the id, to the operator's moderators. Nobody else is told. While an
   * earlier report of the same is open, no other is made.
   *
   * @param {string | { conversation_id: string, seq?: number }} target
   * @param {import('../types').MethodParams['reports.create']['reason']} reason
   * @param {string} [comment] At most 1,000 characters for the moderators.
   * @throws {PostlineError} `not_found`, `forbidden`, `invalid_params`, `offline`.
   */
  async report(target, reason, comment) {
    await this.call('reports.create', {
      ...typeof target === 'string' ? { user_id: target }
        : { conversation_id: target.conversation_id, seq: target.seq },
      reason, comment,
    })
  }

  /**
   * Schedules a message, which the server sends at its time, whether or not this device is on.
   *
   * @param {string} conversationID
   * @param {string} content As of `chat.send`.
   * @param {Date} dueAt A time in the future, at most a year from now.
   * @param {import('./chat.js').SendOptions} [options] As of `chat.send`.
   * @throws {PostlineError} `invalid_params`, `not_found`, `offline`; `forbidden` with 100 scheduled messages.
   */
  async schedule(conversationID, content, dueAt, options = {}) {
    checkMessage('schedule', content, options)
    check(dueAt instanceof Date && !Number.isNaN(dueAt.getTime()), 'dueAt', 'a Date')
    return this.call('messages.schedule', {
      conversation_id: conversationID, client_id: uuid(), due_at: dueAt.toISOString(),
      ...messageParams(content, options),
    })
  }

  /**
   * Returns the user's scheduled messages by their time, also those that the server refused to send (`error`).
   *
   * @param {string} [conversationID] Without it, those of all conversations.
   */
  async scheduled(conversationID) {
    const found = []
    /** @type {string | null | undefined} */
    let after
    do {
      const page = await this.call('messages.scheduled', {
        ...conversationID && { conversation_id: conversationID }, ...after && { after },
      })
      found.push(...page.scheduled)
      after = page.next
    } while (after)
    return found
  }

  /**
   * Removes a scheduled message, which is not sent then.
   *
   * @param {{ id: string }} message
   * @throws {PostlineError} `not_found` if it was sent or removed.
   */
  async unschedule({ id }) { await this.call('messages.unschedule', { id }) }

  /**
   * Edits the user's own data. When this resolves, the edit is stored on the device and shown.
   *
   * @param {MethodParams['me.save']} fields
   */
  async updateProfile(fields) {
    await this.#core.requireUser().queue('me.save', 'me', fields)
  }

  /**
   * Uploads a picture and makes it the avatar, or removes the avatar.
   *
   * @param {Blob | import('./picture.js').Picture | null} file Null for no avatar.
   * @param {{ onProgress?: (part: number) => void, signal?: AbortSignal }} [options]
   */
  async setAvatar(file, options = {}) {
    await this.call('me.set_avatar', file === null ? { avatar_type: null }
      : { avatar_type: 'custom', media_id: await this.uploadAvatar(file, options) })
  }

  /**
   * Uploads a picture for an avatar, and returns its id for `me.save`.
   *
   * @param {Blob | import('./picture.js').Picture} file A file, or what `avatarPicture` returned for it.
   * @param {{ onProgress?: (part: number) => void, signal?: AbortSignal }} [options]
   */
  async uploadAvatar(file, options = {}) {
    const picture = await pictureOf(file, avatarPicture)
    const call = (/** @type {any} */ method, /** @type {any} */ params) => this.call(method, params)
    return upload(call, picture, { purpose: 'avatar', mediaURL: this.#core.mediaURL, ...options })
  }

  /**
   * Returns the URL of a message's picture for some minutes, or null if it is gone.
   *
   * @param {{ media_id?: string | null, url?: string | null } | null} attachment
   * @param {{ renew?: boolean }} [options] `renew` asks the server again, such as after the picture did not load.
   */
  async pictureURL(attachment, options = {}) {
    const { media_id, url } = attachment ?? {}
    return media_id ? this.#pictureURLs.get(media_id, options.renew === true) : url ?? null
  }

  /**
   * Returns the URL of an attachment's file for some minutes, or null if it is gone.
   *
   * @param {{ media_id?: string | null, url?: string | null } | null} attachment
   * @param {{ renew?: boolean }} [options] `renew` asks the server again.
   */
  fileURL(attachment, options = {}) { return this.pictureURL(attachment, options) }

  /**
   * Returns the URL of an attachment's preview for some minutes, or null if it has none.
   *
   * @param {{ preview_media_id?: string | null } | null} attachment
   * @param {{ renew?: boolean }} [options] `renew` asks the server again.
   */
  async previewURL(attachment, options = {}) {
    const id = attachment?.preview_media_id
    return id ? this.#pictureURLs.get(id, options.renew === true) : null
  }

  /**
   * Sends a refused change again.
   *
   * @param {string} change
   */
  async retry(change) {
    checkKey(change)
    await this.#core.requireUser().retry(change)
  }

  /**
   * Removes a change from the outbox. One that is being sent may still be done.
   *
   * @param {string} change
   */
  async discard(change) {
    checkKey(change)
    await this.#core.requireUser().discard(change)
  }

  // The connection.

  /** Connects now, without waiting for the next attempt, or checks the connection. */
  connect() { this.#core.connect() }

  /** Disconnects until `connect` or a sign-in, such as when a mobile app goes to the background. */
  disconnect() { this.#core.disconnect() }

  /**
   * Sets whether the user sees the app, outside of browsers. A user who does not is not online.
   *
   * @param {boolean} isVisible
   */
  setVisible(isVisible) { this.#core.setVisible(isVisible) }

  /** Ends the client: the connection, the timers, and the lead among the tabs. */
  close() { return this.#core.close() }

  /**
   * @param {boolean} mergesGuest
   * @param {import('./sign-in.js').SignInRequest} request
   */
  async #signIn(mergesGuest, request) {
    await this.ready
    const { session } = this.#core
    if (this.#isSigningIn) throw new PostlineError('invalid_request', 'A sign-in is in progress.')
    if (session && !session.isGuest) throw new PostlineError('invalid_request', 'A user is signed in. Sign out first.')
    if (session && !mergesGuest) {
      throw new PostlineError('invalid_request', 'A guest is signed in, whose data would be lost. Sign out first.')
    }
    this.#isSigningIn = true
    try {
      const former = this.state
      this.connect()
      // A guest's changes are for its own conversations, which the merge may join with those of the account.
      if (session) await within(drainTimeout, this.#drained(former))
      return await this.#core.signIn(request)
    } finally {
      this.#isSigningIn = false
    }
  }

  /**
   * Resolves once the outbox is empty, or an attempt to connect has failed.
   *
   * @param {ConnectionState} former The state before the attempt.
   */
  #drained(former) {
    const isDrained = () => this.pendingCount === 0 || (this.state.name === 'offline' && this.state !== former)
    return new Promise((/** @type {(value?: any) => void} */ resolve) => {
      const check = () => {
        if (!isDrained()) return
        end()
        resolve()
      }
      const end = this.subscribe(check)
      check()
    })
  }
}

/** @type {readonly import('./conversation-views.js').ConversationView[]} */
const noConversations = Object.freeze([])
/** @type {readonly import('./user-data.js').RefusedChange[]} */
const noChanges = Object.freeze([])
/** @type {Readonly<Record<string, string[]>>} */
const noTyping = Object.freeze({})
