/**
 * A server in memory that a test scripts. Its `WebSocket` is the option of a client. It answers `sync.open` with the
 * next of `pages`, and other methods by `methods`, or else with `{}`.
 */
export class ScriptedServer {
  /** The connections that are open, the newest last. */
  connections = []
  /** All requests, as `[method, params]`. */
  requests = []
  pages = []
  methods = {}
  /** The features of the hello. */
  features = ['presence', 'typing', 'mute', 'replies', 'mentions', 'pins', 'data', 'settings', 'reactions', 'media']
  #listeners = new Set()
  isReachable = true

  constructor(userID) {
    this.userID = userID
    const server = this
    this.WebSocket = class {
      constructor() {
        const { isReachable } = server
        queueMicrotask(() => {
          if (!isReachable) return this.onclose?.({ code: 1006 })
          const connection = new ScriptedConnection(server, this)
          server.connections.push(connection)
          connection.push('server.hello', {
            server: 'postline', version: '0', protocol: 1, max_line_bytes: 65536, max_in_flight: 64, ping_seconds: 30,
            features: server.features,
          })
        })
      }

      send(text) { server.connections.find(({ socket }) => socket === this)?.receive(JSON.parse(text)) }

      close() { server.connections.find(({ socket }) => socket === this)?.end() }
    }
  }

  get connection() { return this.connections[this.connections.length - 1] }

  /** The params of all requests of a method. */
  calls(method) { return this.requests.filter(([name]) => name === method).map(([, params]) => params) }

  subscribe(listener) {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Pushes to the newest connection. */
  push(method, params) { this.connection.push(method, params) }

  /** Answers a request. An error of the protocol is thrown as `{ code, … }`. */
  async answer(method, params) {
    this.requests.push([method, params])
    queueMicrotask(() => { for (const listener of [...this.#listeners]) listener() })
    if (this.methods[method]) return this.methods[method](params)
    if (method === 'auth.login' || method === 'auth.guest') return tokens(this.userID, method === 'auth.guest')
    if (method === 'auth.refresh') return tokens(this.userID, false, Number(params.refresh_token.split('-')[1]) + 1)
    if (method === 'session.authenticate') {
      const expires_at = new Date(Date.now() + 3_600_000).toISOString()
      return { user_id: this.userID, session_id: null, is_guest: false, expires_at }
    }
    if (method === 'server.info') return { time: new Date().toISOString() }
    if (method === 'sync.open') return this.pages.length ? this.pages.shift() : changes('end')
    return {}
  }
}

class ScriptedConnection {
  constructor(server, socket) {
    this.server = server
    this.socket = socket
  }

  push(method, params) { this.#send({ jsonrpc: '2.0', method, params }) }

  /** Says goodbye and ends the connection. */
  goodbye(code, reconnect) {
    this.push('server.goodbye', { code, message: `Goodbye: ${code}.`, reconnect })
    this.end()
  }

  /** Ends the connection, as when the network is gone. */
  end(code = 1006) {
    const { connections } = this.server
    if (!connections.includes(this)) return
    connections.splice(connections.indexOf(this), 1)
    queueMicrotask(() => this.socket.onclose?.({ code }))
  }

  async receive({ id, method, params }) {
    let line
    try {
      line = { jsonrpc: '2.0', id, result: await this.server.answer(method, params) }
    } catch (error) {
      if (error instanceof Error) throw error
      const { message = `Refused: ${error.code}.` } = error
      // A request that cannot be parsed has no id for the server.
      const answered = error.code === 'parse_error' ? null : id
      line = { jsonrpc: '2.0', id: answered, error: { code: 400, message, data: error } }
    }
    if (id !== undefined && this.server.connections.includes(this)) this.#send(line)
  }

  #send(line) { this.socket.onmessage?.({ data: JSON.stringify(line) }) }
}

const time = '2026-11-20T10:00:00.000000Z'

/** Returns the tokens of a session. */
export function tokens(userID, isGuest = false, number = 1) {
  return {
    access_token: `access-${number}`, token_type: 'bearer', expires_in: 3600, expires_at: time,
    refresh_token: `refresh-${number}`, user_id: userID, is_guest: isGuest,
  }
}

/** Returns Changes. */
export function changes(cursor, members = {}) { return { cursor, reset: false, more: false, ...members } }

export function me(id, members = {}) {
  return { ...profile(id, members), email: 'ann@example.com', preferences: {}, physical: {}, ...members }
}

export function profile(id, members = {}) {
  return {
    id, username: null, full_name: `User ${id}`, bio: null, avatar_type: null, avatar_id: null, avatar_url: null,
    website: null, location: null, language_code: null, is_verified: false, is_guest: false, is_deleted: false,
    attributes: {}, version: 1, created_at: time, updated_at: time, ...members,
  }
}

/** Returns a direct conversation of the first two members, or a group. */
export function conversation(id, memberIDs, members = {}) {
  const isGroup = members.kind === 'group'
  return {
    id, kind: 'direct', title: isGroup ? `Group ${id}` : null, created_by: memberIDs[0],
    participant1_id: isGroup ? null : memberIDs[0], participant2_id: isGroup ? null : memberIDs[1],
    members: memberIDs.map((user_id) => ({ user_id, role: 'member', joined_at: time, last_read_seq: 0 })),
    last_seq: 0, version: 1, last_message_content: null, last_message_time: null, last_message_sender_id: null,
    last_read_seq: 0, unread_count: 0, unread_mentions: 0, is_marked_unread: false, muted_until: null,
    is_archived: false, is_pinned: false, pinned_seqs: [], data: null, created_at: time, updated_at: time, ...members,
  }
}

export function message(conversation_id, seq, sender_id, members = {}) {
  return {
    id: `${conversation_id}-${seq}`, conversation_id, seq, sender_id,
    sender: {
      id: sender_id, username: null, full_name: 'As sent', avatar_type: null, avatar_id: null, avatar_url: null,
      version: 1,
    },
    client_id: null, kind: 'text', content: `message ${seq}`, attachment: null, is_read: false, version: 1,
    reply_to: null, mentions: [], mentions_everyone: false, data: null,
    created_at: `2026-11-20T11:00:00.${String(seq).padStart(6, '0')}Z`, edited_at: null, deleted_at: null, ...members,
  }
}

export function reactions(conversation_id, seq, members = {}) {
  return { conversation_id, seq, version: 1, counts: {}, ...members }
}
