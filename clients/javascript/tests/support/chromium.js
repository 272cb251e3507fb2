import { spawn } from 'node:child_process'
import { createReadStream, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, extname, join, normalize } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { TestWebSocket } from './websocket.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
const types = { '.js': 'text/javascript', '.html': 'text/html' }

/** The path of Chromium, or undefined if it is not installed. */
export const chromiumPath = ['chromium', 'google-chrome', 'chromium-browser']
  .flatMap((name) => (process.env.PATH ?? '').split(delimiter).map((folder) => join(folder, name))).find(existsSync)

/** Starts a headless Chromium, and a server of this package's files. */
export async function startChromium() {
  const chromium = new Chromium()
  await chromium.start()
  return chromium
}

class Chromium {
  #nextID = 1
  #requests = new Map()
  /** What waits for the load event of each page. */
  #loaded = new Map()
  #folder = mkdtempSync(join(tmpdir(), 'postline-chromium-'))

  async start() {
    this.#server = createServer((request, response) => this.#serve(request, response))
    await new Promise((listening) => this.#server.listen(0, '127.0.0.1', listening))
    this.origin = `http://127.0.0.1:${this.#server.address().port}`
    this.#process = spawn(chromiumPath, [
      '--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--remote-debugging-port=0',
      `--user-data-dir=${this.#folder}`, '--no-first-run', 'about:blank',
    ], { stdio: ['ignore', 'ignore', 'pipe'] })
    for await (const line of createInterface({ input: this.#process.stderr })) {
      const [, address] = /DevTools listening on (\S+)/.exec(line) ?? []
      if (!address) continue
      await this.#connect(address)
      this.#process.stderr.resume()
      return
    }
    throw new Error('Chromium did not start.')
  }

  #server
  #process
  #socket

  /** @param {string} address */
  #connect(address) {
    this.#socket = new TestWebSocket(address)
    this.#socket.onmessage = ({ data }) => {
      const { id, result, error, method, sessionId } = JSON.parse(data)
      if (method === 'Page.loadEventFired') this.#loaded.get(sessionId)?.()
      const request = this.#requests.get(id)
      if (!request) return
      this.#requests.delete(id)
      if (error) request.reject(new Error(error.message))
      else request.resolve(result)
    }
    return new Promise((opened) => { this.#socket.onopen = opened })
  }

  /** Serves the package's files, and an empty page at `/`. */
  #serve(request, response) {
    const path = normalize(new URL(request.url, this.origin).pathname)
    const file = join(root, path)
    if (path === '/') {
      response.writeHead(200, { 'Content-Type': 'text/html' })
      return response.end(this.html)
    }
    if (!existsSync(file)) {
      response.writeHead(404)
      return response.end()
    }
    response.writeHead(200, { 'Content-Type': types[extname(file)] ?? 'text/plain' })
    createReadStream(file).pipe(response)
  }

  /** Passes WebSockets on to a node, as if the page were the node's. */
  connectTo(url) {
    const target = new URL(url)
    this.#server.on('upgrade', (request, near) => {
      const far = connect(Number(target.port), target.hostname, () => {
        const headers = { ...request.headers, host: target.host, origin: target.origin }
        const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
        far.write([`GET ${request.url} HTTP/1.1`, ...lines, '', ''].join('\r\n'))
        near.pipe(far).pipe(near)
      })
      for (const [one, other] of [[near, far], [far, near]]) one.on('error', () => other.destroy())
    })
  }

  /** The page at `/`. */
  html = '<!doctype html><meta charset="utf-8">'

  #call(method, params = {}, sessionId) {
    const id = this.#nextID++
    this.#socket.send(JSON.stringify({ id, method, params, sessionId }))
    return new Promise((resolve, reject) => this.#requests.set(id, { resolve, reject }))
  }

  /** Opens a page of the package's server in the same profile, and returns `run` and `close`. */
  async open(path = '/') {
    const { targetId } = await this.#call('Target.createTarget', { url: 'about:blank' })
    const { sessionId } = await this.#call('Target.attachToTarget', { targetId, flatten: true })
    await this.#call('Page.enable', {}, sessionId)
    await this.#call('Performance.enable', { timeDomain: 'threadTicks' }, sessionId)
    const loaded = new Promise((resolve) => this.#loaded.set(sessionId, resolve))
    await this.#call('Page.navigate', { url: this.origin + path }, sessionId)
    await loaded
    return {
      /** Runs the body of an async function in the page, and returns its value. */
      run: async (body) => {
        const { result, exceptionDetails } = await this.#call('Runtime.evaluate', {
          expression: `(async () => { ${body} })()`, awaitPromise: true, returnByValue: true,
        }, sessionId)
        if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text)
        return result.value
      },
      /** Returns the CPU time of the page's thread so far, in milliseconds. Other work on the machine adds nothing. */
      threadTime: async () => {
        const { metrics } = await this.#call('Performance.getMetrics', {}, sessionId)
        return metrics.find(({ name }) => name === 'TaskDuration').value * 1000
      },
      /** Calls a DevTools method of the page. */
      cdp: (method, params) => this.#call(method, params, sessionId),
      close: () => this.#call('Target.closeTarget', { targetId }),
    }
  }

  async stop() {
    const exited = new Promise((ended) => this.#process.once('exit', ended))
    this.#call('Browser.close').catch(() => {})
    await exited
    this.#server.close()
    this.#server.closeAllConnections?.()
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 5 })
  }
}
