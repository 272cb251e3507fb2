import { offlineError, PostlineError } from './errors.js'

/** The server ends a statement after 10 s, so an answer that is missing by then does not come. */
const answerTimeout = 20_000
const openTimeout = 10_000

/** @typedef {import('../types').MethodResults['server.info']} ServerHello */
/** @typedef {{ code: string, message: string, reconnect: boolean }} Goodbye */
/**
 * The end of a connection.
 *
 * - `mayReconnect`: the client should connect again by itself.
 * - `endsSession`: the server has ended the session. Close code 1008 may also be an expired token: the next try tells.
 *
 * @typedef {{ error: PostlineError, mayReconnect: boolean, endsSession: boolean }} Loss
 */
/**
 * A line's `size` in characters. An answer also has the `method` that it answers, and the `duration` in milliseconds.
 *
 * @typedef {{ size: number, method?: string, duration?: number }} LineDetails
 */
/**
 * @typedef {object} ConnectionOptions
 * @property {string} url
 * @property {any} WebSocket The constructor, with the interface of browsers.
 * @property {(method: string, params: any) => void} [onPush] Called with each push, in order.
 * @property {(direction: 'in' | 'out', line: any, details: LineDetails) => void} [onLine] Called with each line, such
 *   as for a log.
 */

/** One connection that speaks the line protocol over a WebSocket. Each text message is one line. */
export class Connection {
  #url
  #socket
  #onPush
  #onLine
  #nextID = 1
  /**
   * @type {Map<number, {
   *   method: string, sentAt: number, resolve: (result: any) => void, reject: (error: Error) => void, timer: any
   * }>}
   */
  #requests = new Map()
  /** @type {(loss: Loss) => void} */
  #end = () => {}
  /** @type {Goodbye | null} */
  #goodbye = null
  #hasEnded = false
  /**
   * Resolves once the connection has ended.
   *
   * @type {Promise<Loss>}
   */
  ended = new Promise((resolve) => { this.#end = resolve })
  /** The time of the last line from the server. */
  lastHeard = Date.now()
  /**
   * The server's hello.
   *
   * @type {ServerHello}
   */
  hello = /** @type {any} */ (undefined)

  /**
   * Resolves with the connection once the server has said hello.
   *
   * @param {ConnectionOptions} options
   */
  static async open(options) {
    /** @type {() => void} */
    let greeted = () => {}
    const hello = new Promise((/** @type {(value?: any) => void} */ resolve) => { greeted = resolve })
    const connection = new Connection(options, greeted)
    const timer = setTimeout(() => connection.close('The server does not answer.'), openTimeout)
    const loss = await Promise.race([hello, connection.ended])
    clearTimeout(timer)
    if (loss) throw loss.error
    return connection
  }

  /**
   * @param {ConnectionOptions} options
   * @param {() => void} onHello
   */
  constructor({ url, WebSocket, onPush = () => {}, onLine = () => {} }, onHello) {
    this.#url = url
    this.#onPush = onPush
    this.#onLine = onLine
    const socket = new WebSocket(url, 'postline.v1')
    this.#socket = socket
    socket.onmessage = (/** @type {{ data: string }} */ event) => this.#receive(event.data, onHello)
    socket.onclose = (/** @type {{ code: number }} */ event) => this.#finish(event.code)
    // Without a listener some implementations throw. The close event follows.
    socket.onerror = () => {}
  }

  get isOpen() { return !this.#hasEnded && this.hello !== undefined }

  /**
   * Calls a method.
   *
   * @param {string} method
   * @param {object} [params]
   * @param {{ timeout?: number, onResult?: (result: any) => void }} [options] `onResult` is called with the result
   *   before any later line is handled.
   * @returns {Promise<any>}
   * @throws {PostlineError} The server's error, `offline`, or `line_too_long`.
   */
  call(method, params = {}, options = {}) {
    const { timeout = answerTimeout, onResult } = options
    if (!this.isOpen) return Promise.reject(offlineError())
    const id = this.#nextID++
    const line = { jsonrpc: '2.0', id, method, params }
    const text = JSON.stringify(line)
    const most = this.hello.max_line_bytes
    // The server would end the connection.
    if (byteCount(text) > most) {
      const reason = `The request ${method} has ${byteCount(text)} bytes, and the server allows ${most}.`
      return Promise.reject(new PostlineError('line_too_long', reason))
    }
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => this.close('The server does not answer.'), timeout)
      this.#requests.set(id, {
        method, sentAt: performance.now(), timer, reject,
        resolve: (result) => {
          onResult?.(result)
          resolve(result)
        },
      })
      this.#send(line, text)
    })
  }

  /**
   * Calls a method without waiting for an answer.
   *
   * @param {string} method
   * @param {object} params
   */
  notify(method, params) {
    const line = { jsonrpc: '2.0', method, params }
    if (this.isOpen) this.#send(line, JSON.stringify(line))
  }

  /**
   * @param {object} line
   * @param {string} text
   */
  #send(line, text) {
    this.#onLine('out', line, { size: text.length })
    this.#socket.send(text)
  }

  /**
   * Ends the connection now. A peer that is gone would not answer a closing handshake.
   *
   * @param {string} [reason]
   */
  close(reason) {
    if (this.#hasEnded) return
    try {
      this.#socket.close(1000)
    } catch {
      // It was not open yet, or is closed already.
    }
    this.#finish(1006, reason)
  }

  /**
   * @param {string} text
   * @param {() => void} onHello
   */
  #receive(text, onHello) {
    if (this.#hasEnded) return
    this.lastHeard = Date.now()
    let line
    try {
      line = JSON.parse(text)
    } catch {
      return this.close('The server sent a line that is not JSON.')
    }
    const request = this.#requests.get(line.id)
    this.#onLine('in', line, {
      size: text.length, ...request && { method: request.method, duration: performance.now() - request.sentAt },
    })
    if (line.method === 'server.hello') {
      this.hello = line.params
      onHello()
    } else if (line.method === 'server.goodbye') {
      this.#goodbye = line.params
    } else if (line.method) {
      this.#onPush(line.method, line.params)
    } else {
      this.#answer(line)
    }
  }

  /** @param {any} line */
  #answer(line) {
    // One that the server could not parse has no id. Answers come in the order of the requests.
    const id = line.id ?? this.#requests.keys().next().value
    const request = this.#requests.get(id)
    if (!request) return
    this.#requests.delete(id)
    clearTimeout(request.timer)
    if (line.error) request.reject(PostlineError.fromResponse(line.error))
    else request.resolve(line.result)
  }

  /**
   * @param {number} code
   * @param {string} [reason]
   */
  #finish(code, reason) {
    if (this.#hasEnded) return
    this.#hasEnded = true
    const goodbye = this.#goodbye
    const unknown = this.hello ? 'The connection to the server was lost.' : unreachable(this.#url)
    const error = offlineError(reason ?? goodbye?.message ?? unknown)
    for (const { timer, reject } of this.#requests.values()) {
      clearTimeout(timer)
      reject(error)
    }
    this.#requests.clear()
    this.#end({
      error,
      mayReconnect: goodbye ? goodbye.reconnect : code !== 1009,
      endsSession: goodbye?.code === 'session_revoked',
    })
  }
}

/**
 * Returns why a connection did not open, as far as a page can know.
 *
 * @param {string} url
 */
function unreachable(url) {
  const { location, navigator } = globalThis
  const isForeign = location && navigator.onLine && !url.includes(`//${location.host}/`)
  return `The server could not be reached${isForeign ? `, or does not accept pages of ${location.origin}` : ''}.`
}

/**
 * Returns the bytes of a text in UTF-8. React Native has no encoder everywhere.
 *
 * @param {string} text
 */
export function byteCount(text) {
  let count = text.length
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index)
    if (unit > 0x7f) count += 1
    // The two halves of a pair have four bytes together.
    if (unit > 0x7ff && (unit < 0xd800 || unit > 0xdfff)) count += 1
  }
  return count
}
