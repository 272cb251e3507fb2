// One connection that speaks the line protocol: a WebSocket of which each text message is one line.

import { ConnectionLost, RemoteError } from './errors.js'

/// The database gives a statement up after 10 seconds, so that what is not answered by then is not coming.
const answerMilliseconds = 20_000
const openMilliseconds = 10_000

export class Connection {
  #socket
  #lines
  #nextID = 1
  #waiting = new Map()
  #end
  #goodbye = null
  /// Called with the method and params of each push, in their order.
  onPush = () => {}
  /// The params of `server.hello`.
  hello
  /// Resolves, with a ConnectionLost, once nothing more comes.
  closed = new Promise((resolve) => { this.#end = resolve })
  lastHeard = Date.now()

  /// Resolves with the connection when the server has said hello.
  static open(lines) {
    const url = new URL('/v1/line', location.href)
    url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:'
    const connection = new Connection()
    connection.#lines = lines
    return new Promise((resolve, reject) => {
      connection.#start(new WebSocket(url, 'postline.v1'), resolve)
      connection.closed.then(reject)
      const timer = setTimeout(() => connection.close('The server did not answer in time.'), openMilliseconds)
      connection.closed.then(() => clearTimeout(timer))
      connection.onPush = (method) => { if (method === 'server.hello') clearTimeout(timer) }
    })
  }

  #start(socket, onHello) {
    this.#socket = socket
    socket.onmessage = (event) => {
      this.lastHeard = Date.now()
      const line = JSON.parse(event.data)
      if (line.method) {
        this.#lines.take('in', line, event.data.length)
        if (line.method === 'server.hello') {
          this.hello = line.params
          onHello(this)
        }
        if (line.method === 'server.goodbye') this.#goodbye = line.params
        this.onPush(line.method, line.params)
      } else {
        this.#answer(line, event.data.length)
      }
    }
    socket.onclose = (event) => this.#finish(event.code)
  }

  #answer(line, size) {
    const request = this.#waiting.get(line.id)
    this.#waiting.delete(line.id)
    this.#lines.take('in', line, size, request)
    if (!request) return
    clearTimeout(request.timer)
    if (line.error) request.reject(new RemoteError(line.error))
    else request.resolve(line.result)
  }

  get isOpen() { return this.#socket?.readyState === WebSocket.OPEN }

  /// Asks, and resolves with the result. Throws RemoteError where it is refused, ConnectionLost where no answer came.
  call(method, params = {}, timeout = answerMilliseconds) {
    if (!this.isOpen) return Promise.reject(new ConnectionLost())
    const line = { jsonrpc: '2.0', id: this.#nextID++, method, params }
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => this.close('The server has gone quiet.'), timeout)
      this.#waiting.set(line.id, { method, sentAt: performance.now(), timer, resolve, reject })
      const text = JSON.stringify(line)
      this.#lines.take('out', line, text.length)
      this.#socket.send(text)
    })
  }

  /// Ends the connection at once; a closing handshake that the other side may be too dead for is not waited for.
  close(reason) {
    this.#socket?.close(1000)
    this.#finish(1006, reason)
  }

  #finish(code, reason) {
    if (!this.#socket) return
    this.#socket.onmessage = this.#socket.onclose = null
    this.#socket = null
    const lost = new ConnectionLost(reason ?? this.#goodbye?.message, code, this.#goodbye)
    this.#lines.note(lost.message)
    for (const request of this.#waiting.values()) {
      clearTimeout(request.timer)
      request.reject(lost)
    }
    this.#waiting.clear()
    this.#end(lost)
  }
}
