import { AcknowledgementThrottle } from './acknowledgement-throttle.js'
import { Backoff } from './backoff.js'
import { Connection } from './connection.js'
import { endsSession, offlineError, PostlineError } from './errors.js'
import { Outbox } from './outbox.js'
import { Signal } from './signal.js'
import { TypingThrottle } from './typing-throttle.js'

const messagesPerConversation = 20
/** The time for a doubtful connection to answer. */
const probeTimeout = 5000
/** A connection that lasted this long lets the next attempt begin without delay. */
const stableTime = 30_000

/**
 * The state of the connection.
 *
 * - `loading`: the device's data is being read.
 * - `signed_out`: no user is signed in. `error` says why, if the server ended the session.
 * - `connecting`, then `catching_up`: changes since the last connection are being fetched.
 * - `live`: the device has all changes, and new ones arrive as they commit.
 * - `offline`: `error` says why, and `retryAt` (milliseconds since 1970) when the next attempt begins.
 *
 * @typedef {object} ConnectionState
 * @property {'loading' | 'signed_out' | 'connecting' | 'catching_up' | 'live' | 'offline'} name
 * @property {PostlineError} [error]
 * @property {number} [retryAt]
 */
/**
 * @typedef {object} EngineOptions
 * @property {import('./store.js').Store} store
 * @property {import('./tokens.js').TokenKeeper} tokens
 * @property {Omit<import('./connection.js').ConnectionOptions, 'onPush'>} connection
 * @property {import('./upload.js').MediaURL} [mediaURL]
 * @property {boolean} isVisible
 * @property {(state: ConnectionState) => void} onState
 * @property {(notice: import('./typists.js').TypingNotice) => void} onTyping
 * @property {(key: string, part: number) => void} onProgress
 * @property {(error: PostlineError) => void} onSessionEnd
 */

/** Keeps one connection: authenticates it, syncs, sends the outbox, and connects again after a loss. */
export class SyncEngine {
  #options
  /** @type {Connection | null} */
  #connection = null
  /** @type {Outbox | null} */
  #outbox = null
  #isReady = false
  #hasEnded = false
  #isVisible
  #wake = new Signal()
  #backoff = new Backoff()
  /** @type {((connection: Connection | null) => void)[]} */
  #waiters = []
  /**
   * Only one sync runs at a time.
   *
   * @type {Promise<void>}
   */
  #syncing = Promise.resolve()
  #typing = new TypingThrottle((conversationID, isTyping) => {
    this.#connection?.notify('conversations.typing', { conversation_id: conversationID, is_typing: isTyping })
  })

  #acknowledgements = new AcknowledgementThrottle(() => {
    const { cursor } = this.#options.store
    if (cursor) this.#connection?.notify('sync.ack', { cursor })
  })

  /** @param {EngineOptions} options */
  constructor(options) {
    this.#options = options
    this.#isVisible = options.isVisible
  }

  /** The server's hello on the current connection. */
  get hello() { return this.#connection?.hello ?? null }

  /** Runs until `stop` is called or the session is over. */
  async run() {
    const { onState, onSessionEnd } = this.#options
    let isConfirmingRevocation = false
    while (!this.#hasEnded) {
      /** @type {PostlineError} */
      let reason
      let mayReconnect = true
      onState({ name: 'connecting' })
      try {
        const loss = await this.#runConnection()
        reason = loss.error
        mayReconnect = loss.mayReconnect
        // The next attempt confirms the revocation, or finds newer tokens.
        isConfirmingRevocation = loss.endsSession && !isConfirmingRevocation
      } catch (error) {
        if (this.#hasEnded) break
        if (endsSession(error)) {
          this.stop()
          return onSessionEnd(/** @type {PostlineError} */ (error))
        }
        isConfirmingRevocation = false
        // Such as an error of the app's access token provider.
        const message = String(/** @type {any} */ (error)?.message ?? error)
        reason = error instanceof PostlineError ? error : offlineError(message)
      }
      this.#resumeWaiters(null)
      if (this.#hasEnded) break
      if (isConfirmingRevocation) continue
      const wait = !mayReconnect ? Infinity : Math.max(this.#backoff.next(), (reason.retryAfter ?? 0) * 1000)
      onState({ name: 'offline', error: reason, ...(mayReconnect && { retryAt: Date.now() + wait }) })
      await this.#wake.wait(wait)
    }
  }

  /** Ends the connection and all attempts. */
  stop() {
    this.#hasEnded = true
    this.#resumeWaiters(null)
    this.#typing.clear()
    this.#acknowledgements.clear()
    this.#connection?.close('The app has disconnected.')
    this.#wake.signal()
  }

  async #runConnection() {
    const { store, tokens, onState } = this.#options
    /** @type {Connection} */
    const connection = await Connection.open({
      ...this.#options.connection, onPush: (method, params) => this.#receive(connection, method, params),
    })
    if (this.#hasEnded) connection.close()
    this.#connection = connection
    let liveSince = Infinity
    try {
      await tokens.authenticate(connection)
      this.#isReady = true
      this.#toldVisible = true
      this.tellVisibility()
      this.#resumeWaiters(connection)
      onState({ name: 'catching_up' })
      await this.#sync(connection, store.cursor)
      // After the changes, so that new messages are reported as such.
      if (store.isOutdated) await this.#sync(connection, null)
      liveSince = Date.now()
      onState({ name: 'live' })
      this.#outbox = new Outbox(store, connection, this.#options)
      this.#outbox.wake()
      return await this.#watch(connection)
    } finally {
      if (Date.now() - liveSince > stableTime) this.#backoff.reset()
      this.#connection = this.#outbox = null
      this.#isReady = false
      this.#typing.clear()
      this.#acknowledgements.clear()
      connection.close()
    }
  }

  /**
   * Watches a live connection until it ends: for silence, and for tokens to renew.
   *
   * @param {Connection} connection
   */
  async #watch(connection) {
    const { tokens } = this.#options
    const silence = (connection.hello.ping_seconds ?? 30) * 2500 + 5000
    const timer = setInterval(() => {
      // Also after the device slept: then the server has given the connection up.
      if (Date.now() - connection.lastHeard > silence) connection.close('The server does not answer.')
      else if (tokens.isDue && tokens.canRenew) this.#renew(connection)
    }, 1000)
    try {
      return await connection.ended
    } finally {
      clearInterval(timer)
    }
  }

  #isRenewing = false

  /** @param {Connection} connection */
  async #renew(connection) {
    if (this.#isRenewing) return
    this.#isRenewing = true
    try {
      await this.#options.tokens.authenticate(connection)
    } catch (error) {
      // The next connection finds that the session is over. Other errors are tried again.
      if (endsSession(error)) connection.close()
    } finally {
      this.#isRenewing = false
    }
  }

  /**
   * Fetches the changes since a cursor page by page, and goes live.
   *
   * @param {Connection} connection
   * @param {string | null} [start] Null asks for a reset.
   * @returns {Promise<void>}
   */
  #sync(connection, start) {
    this.#syncing = this.#syncing.catch(() => {}).then(async () => {
      let cursor = start === undefined ? this.#options.store.cursor : start
      for (let more = true; more;) {
        /** @type {Promise<void>} */
        let applied = Promise.resolve()
        const page = await connection.call('sync.open', {
          ...(cursor && { cursor }), messages_per_conversation: messagesPerConversation,
        }, {
          // Applied before the pushes after it.
          onResult: (changes) => {
            applied = this.#options.store.apply(changes).then(() => this.#acknowledge(connection, changes))
            applied.catch(() => {})
          },
        })
        await applied
        if (page.more && page.cursor === cursor) {
          throw new PostlineError('malformed_answer', 'The server sent no new cursor.')
        }
        cursor = page.cursor
        more = page.more
      }
    })
    return this.#syncing
  }

  /**
   * @param {Connection} connection
   * @param {string} method
   * @param {any} params
   */
  #receive(connection, method, params) {
    const { store, onTyping, onState } = this.#options
    // A change that could not be stored is not skipped: the next connection syncs from the stored cursor.
    const fail = (/** @type {Error} */ error) => connection.close(error.message)
    if (method === 'changes') store.apply(params).then(() => this.#acknowledge(connection, params)).catch(fail)
    else if (method === 'server.ping' && params?.cursor) store.apply({ cursor: params.cursor }).catch(fail)
    else if (method === 'typing') onTyping(params)
    else if (method === 'sync.lagged') {
      onState({ name: 'catching_up' })
      this.#sync(connection, params.cursor).then(() => onState({ name: 'live' }), fail)
    }
  }

  /**
   * Tells the server that messages of others are stored, so that their senders see that they arrived.
   *
   * @param {Connection} connection
   * @param {Partial<import('../types').Changes>} changes
   */
  #acknowledge(connection, { messages = [] }) {
    if (connection !== this.#connection || !connection.hello.features.includes('delivered')) return
    if (messages.some(({ sender_id }) => sender_id !== this.#options.store.userID)) this.#acknowledgements.request()
  }

  /** Fetches the changes that the server has now. @throws {PostlineError} `offline` */
  async refresh() { await this.#sync(await this.#ready()) }

  /**
   * Calls a method on the current connection, or on the one that is being opened.
   *
   * @param {string} method
   * @param {object} [params]
   * @throws {PostlineError} The server's error, or `offline`.
   */
  async call(method, params) { return (await this.#ready()).call(method, params) }

  /** Returns an access token that is valid for a while. */
  async accessToken() {
    const { tokens } = this.#options
    if (tokens.isDue && tokens.canRenew) await tokens.authenticate(await this.#ready())
    return tokens.session.accessToken
  }

  /** @returns {Promise<Connection>} */
  async #ready() {
    if (this.#isReady && this.#connection) return this.#connection
    if (this.#hasEnded) throw offlineError()
    this.#wake.signal()
    const connection = await new Promise((/** @type {(connection: Connection | null) => void} */ resolve) => {
      this.#waiters.push(resolve)
    })
    if (!connection) throw offlineError()
    return connection
  }

  /** @param {Connection | null} connection */
  #resumeWaiters(connection) {
    const waiters = this.#waiters
    this.#waiters = []
    for (const resume of waiters) resume(connection)
  }

  /** Sends what waits in the outbox. */
  wakeOutbox() { this.#outbox?.wake() }

  /** Connects without waiting for the back-off, or checks the current connection. */
  retryNow() {
    if (this.#isReady) this.#connection?.call('server.info', {}, { timeout: probeTimeout }).catch(() => {})
    else this.#wake.signal()
  }

  /**
   * @param {string} conversationID
   * @param {boolean} isTyping
   */
  setTyping(conversationID, isTyping) {
    if (this.#isReady) this.#typing.set(conversationID, isTyping)
  }

  /** @param {string} conversationID */
  messageSent(conversationID) { this.#typing.messageSent(conversationID) }

  /**
   * Sets whether the user sees the app. A user who does not is not online.
   *
   * @param {boolean} isVisible
   */
  setVisible(isVisible) {
    this.#isVisible = isVisible
    this.tellVisibility()
  }

  /** What the server knows. A connection begins visible. */
  #toldVisible = true

  async tellVisibility() {
    const connection = this.#connection
    if (!connection || !this.#isReady || this.#toldVisible === this.#isVisible) return
    if (!connection.hello.features.includes('presence')) return
    this.#toldVisible = this.#isVisible
    const state = this.#isVisible ? 'active' : 'background'
    await connection.call('session.set_state', { state }).catch(() => {})
  }
}
