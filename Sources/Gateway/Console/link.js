// Keeps the tab connected: signs in, keeps in step by cursor, delivers what is on its way, and comes back after a loss.

import { Backoff } from './backoff.js'
import { Connection } from './connection.js'
import { ConnectionLost, RemoteError, SessionEnded } from './errors.js'

const messagesPerConversation = 50
/// The timeout of a check of a doubtful connection.
const probeMilliseconds = 5000

export class Link {
  #session
  #store
  #outbox
  #lines
  #connection = null
  #cursor = null
  /// Read marks that are not yet told, the greatest of each conversation.
  #marks = new Map()
  #isDelivering = false
  #isRunning = false
  #wake = () => {}
  /// `signed_out`, `connecting`, `online`, or `offline` with `reason` and `retryAt`.
  state = { name: 'signed_out' }
  onState = () => {}
  /// Called with a sentence when the session is over and only a new sign-in helps.
  onEnded = () => {}

  constructor(session, store, outbox, lines) {
    this.#session = session
    this.#store = store
    this.#outbox = outbox
    this.#lines = lines
    addEventListener('online', () => this.retryNow())
    addEventListener('offline', () => this.#probe())
    document.addEventListener('visibilitychange', () => {
      this.#tellState()
      if (document.visibilityState !== 'visible') return
      this.retryNow()
      this.#probe()
    })
  }

  get isOnline() { return this.state.name === 'online' && this.#connection?.isOpen === true }

  /// The server's greeting on the current connection.
  get hello() { return this.#connection?.hello }

  /// Returns true if the client is online and the server has the feature.
  has(feature) { return this.isOnline && this.hello.features?.includes(feature) === true }

  /// Signs in by a method that answers with tokens, and stays connected as that user.
  async signIn(method, params) {
    this.#session.take(await this.callSignedOut(method, params))
    this.run()
  }

  /// Calls a method that needs no session. Opens a connection if there is none.
  async callSignedOut(method, params) {
    if (!this.#connection) {
      const connection = await Connection.open(this.#lines)
      connection.closed.then(() => { if (this.#connection === connection) this.#connection = null })
      this.#connection = connection
    }
    return this.#connection.call(method, params)
  }

  /// Makes the guest a full account, which this connection then belongs to.
  async upgrade(params) {
    this.#session.take(await this.call('auth.upgrade', params))
    this.#store.takeMe(await this.call('me.get'))
  }

  async signOut(everywhere) {
    try {
      if (this.isOnline) await this.#connection.call('auth.logout', { all: everywhere }, probeMilliseconds)
    } catch (error) {
      // The server may end the connection before its answer comes; without a connection the session ends here alone.
      if (!(error instanceof ConnectionLost || error instanceof RemoteError)) throw error
    }
    this.#end(null)
  }

  /// Deletes the account and ends the session.
  async deleteAccount(params) {
    await this.call('me.delete', params)
    this.#end('Your account has been deleted.')
  }

  /// Calls a method on the authenticated connection. Rejects with `ConnectionLost` while there is none.
  call(method, params) {
    if (!this.isOnline) return Promise.reject(new ConnectionLost())
    return this.#connection.call(method, params)
  }

  markRead(conversationID, seq) {
    if (seq <= (this.#marks.get(conversationID) ?? 0)) return
    this.#marks.set(conversationID, seq)
    // Seen is seen, also while the server cannot be told yet.
    this.#store.takeRead({ conversation_id: conversationID, user_id: this.#session.userID, last_read_seq: seq })
    this.#store.changed()
    this.deliver()
  }

  retryNow() { this.#wake() }

  /// Keeps the connection until the session ends.
  async run() {
    if (this.#isRunning) return
    this.#isRunning = true
    const backoff = new Backoff()
    while (this.#session.isSignedIn) {
      this.#become({ name: 'connecting' })
      let lost
      try {
        const connection = await this.#connected()
        this.#toldState = 'active'
        await this.#tellState()
        await this.#synchronize(connection, this.#cursor)
        backoff.reset()
        this.#become({ name: 'online' })
        lost = await this.#follow(connection)
      } catch (error) {
        lost = error
        this.#connection?.close()
      }
      this.#connection = null
      this.#toldState = null
      if (!this.#session.isSignedIn) break
      if (isEnd(lost)) {
        this.#end(lost instanceof SessionEnded ? lost.message : lost.goodbye?.message ?? 'Your session was ended.')
        break
      }
      const wait = backoff.next()
      this.#become({ name: 'offline', reason: reasonOf(lost), retryAt: Date.now() + wait })
      await new Promise((resolve) => {
        this.#wake = resolve
        setTimeout(resolve, wait)
      })
      this.#wake = () => {}
    }
    this.#isRunning = false
  }

  async #connected() {
    // Right after a sign-in there is one, which the sign-in has authenticated.
    if (this.#connection) return this.#connection
    const connection = await Connection.open(this.#lines)
    if (this.#connection || !this.#session.isSignedIn) {
      // Meanwhile somebody signed out, or in.
      connection.close()
      if (this.#connection) return this.#connection
      throw new ConnectionLost()
    }
    this.#connection = connection
    if (this.#session.untilRenewal <= 0) await this.#refresh(connection)
    try {
      await connection.call('session.authenticate', { access_token: this.#session.accessToken })
    } catch (error) {
      if (!['token_expired', 'invalid_token'].includes(error.code)) throw error
      await this.#refresh(connection)
      await connection.call('session.authenticate', { access_token: this.#session.accessToken })
    }
    return connection
  }

  async #refresh(connection) {
    const used = this.#session.refreshToken
    try {
      const tokens = await connection.call('auth.refresh', { refresh_token: used })
      if (this.#session.refreshToken === used) this.#session.take(tokens, true)
    } catch (error) {
      if (!['invalid_token', 'token_expired', 'session_revoked'].includes(error.code)) throw error
      // An upgrade, or a copy of this tab, was faster.
      if (this.#session.refreshToken !== used) return
      throw new SessionEnded('Your session is over. Sign in again to go on.')
    }
  }

  /// Opens live sync from a cursor and takes in page after page.
  async #synchronize(connection, start) {
    connection.onPush = (method, params) => this.#take(connection, method, params)
    let cursor = start
    let more = true
    while (more) {
      const changes = await connection.call('sync.open', {
        ...(cursor && { cursor }), messages_per_conversation: messagesPerConversation,
      })
      this.#apply(changes)
      cursor = changes.cursor
      more = changes.more
    }
  }

  #take(connection, method, params) {
    if (method === 'changes') this.#apply(params)
    else if (method === 'typing') this.#store.takeTyping(params)
    else if (method === 'server.ping') this.#cursor = params?.cursor ?? this.#cursor
    else if (method === 'sync.lagged') {
      this.#synchronize(connection, params.cursor).catch(() => connection.close())
    }
  }

  #apply(changes) {
    this.#cursor = changes.cursor
    this.#store.apply(changes)
    for (const message of changes.messages ?? []) {
      if (message.client_id && message.sender_id === this.#session.userID) this.#outbox.settle(message.client_id)
    }
  }

  /// Resolves when the connection has ended.
  async #follow(connection) {
    const pings = (connection.hello.ping_seconds ?? 30) * 1000
    const watch = setInterval(() => {
      // When even the server's pings stay away, the other side is gone without a word.
      if (Date.now() - connection.lastHeard > pings * 2.5 + 5000) connection.close('The server has gone quiet.')
      else if (this.#session.isSignedIn && this.#session.untilRenewal <= 0) this.#renew(connection)
    }, 1000)
    this.#askForAvatars(connection)
    this.deliver()
    try {
      return await connection.closed
    } finally {
      clearInterval(watch)
    }
  }

  #isRenewing = false

  /// Renews the access token in time, so that the connection is never closed for its age.
  async #renew(connection) {
    if (this.#isRenewing) return
    this.#isRenewing = true
    try {
      await this.#refresh(connection)
      await connection.call('session.authenticate', { access_token: this.#session.accessToken })
    } catch (error) {
      if (error instanceof SessionEnded) this.#end(error.message)
      // What may be tried again is, by the next look.
      else if (!error.isRetryable) connection.close()
    } finally {
      this.#isRenewing = false
    }
  }

  async #askForAvatars(connection) {
    try {
      this.#store.takeAvatars((await connection.call('avatars.list')).avatars)
    } catch {
      // Without the catalogue, avatars are initials.
    }
  }

  /// Delivers what waits: messages in their order, then marks.
  async deliver() {
    if (this.#isDelivering || !this.isOnline) return
    this.#isDelivering = true
    const connection = this.#connection
    try {
      for (let message; (message = this.#outbox.next()); ) await this.#deliverMessage(connection, message)
      for (const [conversationID, seq] of this.#marks) await this.#deliverMark(connection, conversationID, seq)
    } catch (error) {
      // The next connection delivers it. A session that is no longer signed in will be, there.
      if (!(error instanceof ConnectionLost)) connection.close(error.message)
    } finally {
      this.#isDelivering = false
    }
    if (this.isOnline && (this.#outbox.next() || this.#marks.size)) this.deliver()
  }

  async #deliverMessage(connection, { clientID, conversationID, content }) {
    try {
      const message = await connection.call('messages.send', {
        conversation_id: conversationID, content, client_id: clientID,
      })
      this.#store.applyMessages([message])
      this.#outbox.settle(clientID)
    } catch (error) {
      if (!(error instanceof RemoteError) || error.code === 'unauthenticated' || error.code === 'session_revoked') {
        throw error
      }
      if (error.isRetryable) await pause(error.data.retry_after ?? 1)
      else this.#outbox.fail(clientID, error.message)
    }
  }

  async #deliverMark(connection, conversationID, seq) {
    try {
      const mark = await connection.call('messages.mark_read', { conversation_id: conversationID, seq })
      this.#store.takeRead(mark)
      this.#store.changed()
    } catch (error) {
      if (error instanceof ConnectionLost) throw error
      if (error.isRetryable) return pause(error.data.retry_after ?? 1)
      // A mark in a conversation that is gone is no loss.
    }
    if (this.#marks.get(conversationID) === seq) this.#marks.delete(conversationID)
  }

  /// Finds out whether the connection still stands, sooner than its silence would tell.
  #probe() {
    if (this.isOnline) this.#connection.call('server.info', {}, probeMilliseconds).catch(() => {})
  }

  /// The session's activity as last reported to the server. It begins as active.
  #toldState = null

  /// A user whose tabs are all hidden is not online.
  async #tellState() {
    const state = document.visibilityState === 'visible' ? 'active' : 'background'
    const connection = this.#connection
    if (!connection?.isOpen || !this.#toldState || this.#toldState === state) return
    if (!connection.hello.features?.includes('presence')) return
    this.#toldState = state
    try {
      await connection.call('session.set_state', { state })
    } catch (error) {
      if (error instanceof ConnectionLost) return
      // Another try is the next change's.
      this.#toldState = 'unknown'
    }
  }

  #end(message) {
    this.#session.clear()
    this.#cursor = null
    this.#marks.clear()
    this.#connection?.close()
    this.#connection = null
    this.#store.clear()
    this.#become({ name: 'signed_out' })
    this.#wake()
    this.onEnded(message)
  }

  #become(state) {
    this.state = state
    this.#store.setLive(state.name === 'online')
    this.onState()
  }
}

function isEnd(error) {
  return error instanceof SessionEnded || error.code === 'session_revoked'
    || (error instanceof ConnectionLost && !error.mayReconnect)
}

function reasonOf(error) {
  if (error instanceof ConnectionLost && error.goodbye) return error.goodbye.message
  if (!navigator.onLine) return 'You are offline.'
  return error instanceof RemoteError ? 'The server cannot take you in right now.' : 'The connection is lost.'
}

function pause(seconds) {
  return new Promise((resolve) => setTimeout(resolve, Math.min(30, seconds) * 1000))
}
