import { createHash, randomBytes } from 'node:crypto'
import { connect } from 'node:net'

/** A WebSocket client with the part of the browsers' interface that the package uses, for Node 18 and 20. */
export class TestWebSocket {
  readyState = 0
  onmessage = () => {}
  onclose = () => {}
  onerror = () => {}
  #socket
  #buffer = Buffer.alloc(0)
  #fragments = []
  #key = randomBytes(16).toString('base64')
  #closeCode = 1006

  constructor(address, protocol) {
    const url = new URL(address)
    this.#socket = connect(Number(url.port), url.hostname, () => {
      this.#socket.setNoDelay(true)
      this.#socket.write([
        `GET ${url.pathname} HTTP/1.1`, `Host: ${url.host}`, 'Upgrade: websocket', 'Connection: Upgrade',
        `Sec-WebSocket-Key: ${this.#key}`, 'Sec-WebSocket-Version: 13',
        ...protocol ? [`Sec-WebSocket-Protocol: ${protocol}`] : [], '', '',
      ].join('\r\n'))
    })
    this.#socket.on('data', (data) => this.#receive(data))
    this.#socket.on('error', (error) => this.onerror(error))
    this.#socket.on('close', () => this.#finish())
  }

  send(text) { this.#sendFrame(1, Buffer.from(text)) }

  close(code = 1000) {
    if (this.readyState === 1) {
      const payload = Buffer.alloc(2)
      payload.writeUInt16BE(code)
      this.#sendFrame(8, payload)
    }
    this.readyState = 2
    this.#socket.end()
    this.#socket.destroySoon?.()
  }

  #finish() {
    if (this.readyState === 3) return
    this.readyState = 3
    this.onclose({ code: this.#closeCode })
  }

  #sendFrame(opcode, payload) {
    const { length } = payload
    const head = length < 126 ? Buffer.from([0x80 | opcode, 0x80 | length])
      : length < 65536 ? Buffer.from([0x80 | opcode, 0x80 | 126, length >> 8, length & 255])
        : Buffer.concat([Buffer.from([0x80 | opcode, 0x80 | 127, 0, 0, 0, 0]), uint32(length)])
    const mask = randomBytes(4)
    const masked = Buffer.from(payload)
    for (let index = 0; index < length; index += 1) masked[index] ^= mask[index & 3]
    this.#socket.write(Buffer.concat([head, mask, masked]))
  }

  #receive(data) {
    this.#buffer = Buffer.concat([this.#buffer, data])
    if (this.readyState === 0 && !this.#open()) return
    while (this.#readFrame()) { /* The next frame. */ }
  }

  #open() {
    const end = this.#buffer.indexOf('\r\n\r\n')
    if (end < 0) return false
    const head = this.#buffer.subarray(0, end).toString()
    this.#buffer = this.#buffer.subarray(end + 4)
    const accept = createHash('sha1').update(`${this.#key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64')
    if (!head.startsWith('HTTP/1.1 101') || !head.includes(accept)) {
      this.#socket.destroy()
      return false
    }
    this.readyState = 1
    this.onopen?.({})
    return true
  }

  #readFrame() {
    const buffer = this.#buffer
    if (buffer.length < 2) return false
    let length = buffer[1] & 127
    let start = 2
    if (length === 126) {
      if (buffer.length < 4) return false
      length = buffer.readUInt16BE(2)
      start = 4
    } else if (length === 127) {
      if (buffer.length < 10) return false
      length = Number(buffer.readBigUInt64BE(2))
      start = 10
    }
    if (buffer.length < start + length) return false
    const payload = buffer.subarray(start, start + length)
    this.#buffer = buffer.subarray(start + length)
    this.#takeFrame(buffer[0] & 15, (buffer[0] & 128) !== 0, payload)
    return true
  }

  #takeFrame(opcode, isFinal, payload) {
    if (opcode === 9) return this.#sendFrame(10, payload)
    if (opcode === 8) {
      this.#closeCode = payload.length >= 2 ? payload.readUInt16BE(0) : 1005
      return this.#socket.end()
    }
    if (opcode > 2) return
    this.#fragments.push(Buffer.from(payload))
    if (!isFinal) return
    const data = Buffer.concat(this.#fragments).toString()
    this.#fragments = []
    this.onmessage({ data })
  }
}

function uint32(value) {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}
