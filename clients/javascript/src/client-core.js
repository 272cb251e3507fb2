import { Chats } from './chats.js'
import { EndedSessions } from './ended-sessions.js'
import { invalidParams, offlineError, PostlineError, storeUnusable } from './errors.js'
import { perform } from './leader-calls.js'
import { lineURL } from './line-url.js'
import { memoryStorage } from './memory-storage.js'
import { isPageVisible, listenToPage } from './page-events.js'
import { RemoteEngine } from './remote-engine.js'
import { databaseName, moveGuest, withConnection } from './sign-in.js'
import { SyncEngine } from './sync-engine.js'
import { Tabs } from './tabs.js'
import { TokenKeeper } from './tokens.js'
import { UserData } from './user-data.js'

/** @typedef {import('./tokens.js').Session} Session */
/** @typedef {import('./sync-engine.js').ConnectionState} ConnectionState */
/** @typedef {{ id: string, isGuest: boolean }} Account */

/** The parts of a client and how they change: the user's data, the engine, and the other tabs. */
export class ClientCore {
  /** @type {ConnectionState} */
  state = Object.freeze({ name: 'loading' })
  /** @type {Account | null} */
  account = null
  /** @type {UserData | null} */
  user = null
  /** @type {SyncEngine | RemoteEngine | null} */
  engine = null
  /** @type {PostlineError | null} */
  storeError = null
  /** @type {Session | null} */
  session = null
  /** @type {import('./storage.js').Database | null} */
  #device = null
  #tabs
  #endedSessions
  /** @type {TokenKeeper | null} */
  #tokens = null
  /**
   * The access tokens of `signIn`, for as long as this page.
   *
   * @type {import('./tokens.js').AccessTokenProvider | undefined}
   */
  #provider
  #isDisconnected = false
  #isClosed = false
  #isVisible = isPageVisible()
  /**
   * The other tabs that the user sees.
   *
   * @type {Set<string>}
   */
  #visibleTabs = new Set()
  /**
   * Changes of the user take turns.
   *
   * @type {Promise<any>}
   */
  #lifecycle = Promise.resolve()
  #stopListening = () => {}
  /** Called after each change of what the client shows. */
  onChange = () => {}
  /** Called with each message that is new to the user. */
  onMessage = (/** @type {import('../types').Message} */ _message) => {}

  /** @param {import('./client.js').ClientOptions} options */
  constructor(options) {
    const { url, storage = memoryStorage(), WebSocket = globalThis.WebSocket, onLine, mediaURL, tabs } = options
    if (!WebSocket) {
      throw invalidParams('WebSocket', 'There is no global WebSocket: pass one, such as that of the package ws.')
    }
    this.storage = storage
    this.connectionOptions = { url: lineURL(url), WebSocket, onLine }
    this.#endedSessions = new EndedSessions(this.connectionOptions, () => {
      return this.#tabs.isLeader && !this.#isClosed && !this.#isDisconnected ? this.#device : null
    })
    this.mediaURL = mediaURL
    this.accessToken = options.accessToken
    this.eraseOnSessionEnd = options.eraseOnSessionEnd
    this.#tabs = new Tabs(storage, tabs ?? {
      locks: globalThis.navigator?.locks, BroadcastChannel: globalThis.BroadcastChannel,
    })
    this.#tabs.onMessage = (message) => this.#receive(message)
    this.#tabs.onLead = () => this.#later(async () => this.#replaceEngine())
    /**
     * Resolves once the device's data are shown.
     *
     * @type {Promise<void>}
     */
    this.ready = this.exclusively(() => this.#start())
    this.chats = new Chats({
      ready: this.ready,
      fetchOlder: (id) => this.call('.older', { conversation_id: id }),
      editUnsent: (key, params) => {
        // The tab that leads knows which changes are being sent. It needs no connection.
        return this.#tabs.isLeader ? this.requireUser().editUnsent(key, params) : this.call('.edit', { key, params })
      },
      messageSent: (id) => this.engine?.messageSent(id),
      setTyping: (id, isTyping) => this.engine?.setTyping(id, isTyping),
    })
  }

  async #start() {
    try {
      this.#device = await this.storage.open('device')
    } catch (error) {
      this.storeError = storeUnusable(error)
      if (this.storage.isRequired) throw this.storeError
      // As in some private windows. The data then last as long as the page.
      this.storage = memoryStorage()
      this.#device = await this.storage.open('device')
    }
    // Writes of other tabs queue up behind the first read.
    this.#tabs.start()
    await this.#openUser()
    this.#stopListening = listenToPage({
      onVisible: (isVisible) => this.setVisible(isVisible),
      onNetwork: () => this.#retryNow(),
      onHide: () => this.#tabs.post({ type: 'visible', isVisible: false }),
    })
    this.#startEngine()
  }

  /**
   * Runs an action after those before it.
   *
   * @template Value
   * @param {() => Promise<Value>} action
   * @returns {Promise<Value>}
   */
  exclusively(action) {
    const done = this.#lifecycle.then(action)
    this.#lifecycle = done.catch(() => {})
    return done
  }

  /**
   * Runs an action that nothing waits for. Only the storage fails in one.
   *
   * @param {() => Promise<void>} action
   */
  #later(action) {
    this.exclusively(action).catch((error) => {
      this.storeError = storeUnusable(error)
      this.onChange()
    })
  }

  /** Shows the stored data of the device's user. */
  async #openUser() {
    this.#setSession(await this.#loadSession())
    const end = await this.#setting('session_end')
    if (this.session) {
      const database = await this.storage.open(databaseName(this.session.userID))
      const user = new UserData(database, this.session.userID, (id) => {
        this.chats.update(id)
        this.onChange()
      })
      user.store.onCommit = (writes) => this.#tabs.post({ type: 'writes', userID: user.id, writes })
      user.store.onError = (error) => {
        this.storeError = error
        this.onChange()
      }
      user.onChange = (touched, writes) => this.#show(user, touched, writes)
      this.user = user
      await user.load()
    }
    this.chats.each((chat) => chat.attach(this.user))
    this.#setState(this.user ? { name: this.#isDisconnected ? 'offline' : 'connecting' }
      : { name: 'signed_out', ...end && { error: PostlineError.fromJSON(end) } })
  }

  async #restart() {
    if (this.#isClosed) return
    this.#stopEngine()
    const former = this.user
    this.user = null
    this.chats.each((chat) => chat.attach(null))
    former?.close()
    await this.#openUser()
    this.#startEngine()
  }

  /**
   * Begins or ends to lead. The data in memory are consistent with their cursor, so they need not be read again, even
   * if the last writes of a tab that crashed are missing: the sync brings them.
   */
  #replaceEngine() {
    if (this.engine instanceof SyncEngine === this.#tabs.isLeader) return
    this.#stopEngine()
    this.#startEngine()
  }

  #stopEngine() {
    this.engine?.stop()
    this.engine = null
  }

  #startEngine() {
    if (this.engine || this.#isClosed || this.#isDisconnected) return
    if (!this.#tabs.isLeader) {
      this.engine = new RemoteEngine(this.#tabs)
      this.#tabs.post({ type: 'hello' })
      this.#tellVisibility()
      return
    }
    this.#endedSessions.run()
    const { user, session } = this
    if (!user || !session) return
    this.#tokens = new TokenKeeper(session, {
      load: () => this.#loadSession(),
      save: async (renewed) => {
        // Another tab may have signed out meanwhile.
        if ((await this.#loadSession())?.userID === renewed.userID) await this.#saveSession(renewed)
      },
    }, this.accessToken ?? this.#provider)
    const isCurrent = () => this.engine === engine
    const engine = new SyncEngine({
      store: user.store, tokens: this.#tokens, connection: this.connectionOptions, mediaURL: this.mediaURL,
      isVisible: this.#isAnyVisible,
      onState: (state) => {
        if (isCurrent()) this.#setState(state)
        if (state.name === 'live') this.#endedSessions.run()
      },
      onTyping: (notice) => {
        user.typists.receive(notice)
        this.#tabs.post({ type: 'typing', notice })
      },
      onProgress: (key, part) => {
        this.#showProgress(key, part)
        this.#tabs.post({ type: 'progress', key, part })
      },
      onSessionEnd: (error) => {
        if (isCurrent()) this.#later(() => this.endSession({ error, erase: this.eraseOnSessionEnd }))
      },
    })
    this.engine = engine
    engine.run()
  }

  /**
   * Calls a method in the tab that leads. Without a user it opens a connection for the call.
   *
   * @param {string} method A method of the protocol, or one of `perform`.
   * @param {object} [params]
   * @returns {Promise<any>}
   */
  async call(method, params) {
    await this.ready
    const { user, engine } = this
    if (!user) {
      if (!/^(auth|server|session|avatars)\./.test(method)) this.requireUser()
      return withConnection(this.connectionOptions, (connection) => connection.call(method, params))
    }
    if (!engine) throw offlineError()
    if (engine instanceof SyncEngine) return this.#perform(engine, method, params)
    const result = await engine.call(method, params)
    // The objects of the result came before it.
    await user.store.settled()
    return result
  }

  /**
   * @param {SyncEngine} engine
   * @param {string} method
   * @param {any} [params]
   */
  #perform(engine, method, params) {
    const tokens = /** @type {TokenKeeper} */ (this.#tokens)
    return perform({ engine, user: this.requireUser(), tokens }, method, params)
  }

  requireUser() {
    if (!this.user) throw new PostlineError('signed_out', 'No user is signed in.')
    return this.user
  }

  /**
   * Signs in on a connection of its own, and switches to that user.
   *
   * @param {import('./sign-in.js').SignInRequest} request
   */
  signIn(request) {
    return this.exclusively(async () => {
      const guest = this.session
      // A guest's tokens must not be renewed meanwhile.
      if (guest) this.#stopEngine()
      /** @type {import('./sign-in.js').MergeResult | null} */
      let merged = null
      try {
        const result = await withConnection(this.connectionOptions, (connection) => request(connection, guest))
        merged = result.merged
        await this.user?.store.settled()
        if (guest) await moveGuest(this.storage, guest.userID, result.session.userID)
        this.#provider = result.provider
        await this.#saveSession(result.session)
      } catch (error) {
        this.#startEngine()
        throw error
      }
      await this.#restart()
      this.#tabs.post({ type: 'session' })
      return merged
    })
  }

  /**
   * Ends the session on this device.
   *
   * @param {{ error?: PostlineError, erase?: boolean, isOpen?: boolean }} options `error` says why the server has ended
   *   the session. `isOpen` is true if the server may not know yet that the session has ended.
   */
  async endSession({ error, erase = false, isOpen = false }) {
    this.#stopEngine()
    this.#provider = undefined
    // The stored tokens: another tab may have renewed them.
    const session = isOpen ? await this.#loadSession() : null
    const kept = session && this.#device ? await this.#endedSessions.add(this.#device, session) : []
    await this.#saveSession(null, error, kept)
    const { store } = this.user ?? {}
    if (erase && store) await store.alone(() => store.database.erase())
    await this.#restart()
    this.#tabs.post({ type: 'session' })
  }

  /**
   * @param {string} key
   * @returns {Promise<any>}
   */
  async #setting(key) {
    const settings = await this.#device?.read('setting')
    return settings?.find(({ name }) => name === key)?.value ?? null
  }

  /** @returns {Promise<Session | null>} */
  #loadSession() { return this.#setting('session') }

  /**
   * @param {Session | null} session
   * @param {PostlineError} [error] Why there is none.
   * @param {import('./storage.js').Write[]} [writes] More writes of the same transaction.
   */
  async #saveSession(session, error, writes = []) {
    const put = (/** @type {string} */ name, /** @type {any} */ value) => {
      return { table: /** @type {const} */ ('setting'), key: name, value: value ? { name, value } : undefined }
    }
    await this.#device?.write([...writes, put('session', session), put('session_end', error?.toJSON())])
    // Renewed tokens, and those of an upgrade. Another user's data are opened first.
    if (!session || session.userID !== this.session?.userID) return
    if (session.isGuest !== this.session.isGuest) this.#tabs.post({ type: 'session' })
    this.#setSession(session)
  }

  /** @param {Session | null} session */
  #setSession(session) {
    this.session = session
    if (session?.userID === this.account?.id && session?.isGuest === this.account?.isGuest) return
    this.account = session && Object.freeze({ id: session.userID, isGuest: session.isGuest })
    this.onChange()
  }

  /** @param {ConnectionState} state */
  #setState(state) {
    this.state = Object.freeze(state)
    this.user?.setLive(state.name === 'live')
    if (this.#tabs.isLeader) this.#postState()
    this.chats.each((chat) => chat.update())
    this.onChange()
  }

  #postState() {
    const { error, ...state } = this.state
    this.#tabs.post({ type: 'state', state, error: error?.toJSON(), hello: this.engine?.hello })
  }

  /**
   * @param {UserData} user
   * @param {import('./mirror.js').Touched} touched
   * @param {import('./storage.js').Write[]} writes
   */
  #show(user, touched, writes) {
    if (user !== this.user) return
    this.chats.each((chat) => {
      if (touched.messages.has(chat.id)) chat.receive(writes)
      chat.update()
    })
    if (touched.changes) this.engine?.wakeOutbox()
    this.onChange()
    for (const message of touched.news) {
      if (user.views.isBlocked(message)) continue
      // Stored messages have no sender whose profile is known.
      this.onMessage({ ...message, sender: user.views.profile(message.sender_id) ?? message.sender })
    }
  }

  /**
   * @param {string} key
   * @param {number} part
   */
  #showProgress(key, part) {
    const conversationID = this.user?.setProgress(key, part)
    if (conversationID) this.chats.update(conversationID)
  }

  connect() {
    const wasDisconnected = this.#isDisconnected
    this.#isDisconnected = false
    if (wasDisconnected) this.#later(async () => this.#startEngine())
    else this.#retryNow()
  }

  disconnect() {
    this.#isDisconnected = true
    this.#stopEngine()
    if (this.user) this.#setState({ name: 'offline', error: offlineError('The app has disconnected.') })
  }

  /** @param {boolean} isVisible */
  setVisible(isVisible) {
    this.#isVisible = isVisible
    if (isVisible) this.#retryNow()
    this.#tellVisibility()
  }

  #retryNow() {
    this.engine?.retryNow()
    this.#endedSessions.run()
  }

  /** The user is online if it sees any of the tabs. */
  get #isAnyVisible() { return this.#isVisible || this.#visibleTabs.size > 0 }

  #tellVisibility() {
    this.engine?.setVisible(this.engine instanceof SyncEngine ? this.#isAnyVisible : this.#isVisible)
  }

  async close() {
    if (this.#isClosed) return
    await this.ready.catch(() => {})
    this.#isClosed = true
    this.#stopListening()
    this.#stopEngine()
    this.#tabs.close()
    // It ends, and its timer.
    this.#endedSessions.run()
    await this.user?.store.settled()
    this.user?.close()
    this.#device?.close()
  }

  /**
   * Takes a message of another tab.
   *
   * @param {any} message
   */
  #receive(message) {
    const { type, from } = message
    const { engine, user } = this
    if (type === 'session') this.#later(() => this.#adoptSession())
    else if (type === 'writes' && message.userID === user?.id) user?.store.receive(message.writes)
    else if (engine instanceof SyncEngine) {
      if (type === 'hello') this.#postState()
      else if (type === 'call') this.#answer(engine, message)
      else if (type === 'pass') /** @type {any} */ (engine)[message.method](...message.values)
      else if (type === 'visible') {
        this.#visibleTabs[message.isVisible ? 'add' : 'delete'](from)
        this.#tellVisibility()
      }
    } else if (engine instanceof RemoteEngine && user) {
      if (type === 'state') {
        engine.follow(from, message.hello)
        this.#setState({ ...message.state, ...message.error && { error: PostlineError.fromJSON(message.error) } })
      } else if (type === 'answer') engine.receive(message)
      else if (type === 'typing') user.typists.receive(message.notice)
      else if (type === 'progress') this.#showProgress(message.key, message.part)
    }
  }

  /** Follows a sign-in, upgrade or sign-out in another tab. */
  async #adoptSession() {
    const session = await this.#loadSession()
    if (session && session.userID === this.session?.userID) return this.#setSession(session)
    await this.#restart()
  }

  /**
   * @param {SyncEngine} engine
   * @param {{ from: string, id: string, method: string, params: any }} message
   */
  async #answer(engine, { from, id, method, params }) {
    try {
      const result = await this.#perform(engine, method, params)
      this.#tabs.post({ type: 'answer', to: from, id, result })
    } catch (error) {
      const known = error instanceof PostlineError ? error : offlineError(String(error))
      this.#tabs.post({ type: 'answer', to: from, id, error: known.toJSON() })
    }
  }
}
