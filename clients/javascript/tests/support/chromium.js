import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { findProgram, PageServer } from './page-server.js'
import { TestWebSocket } from './websocket.js'

/** The path of Chromium, or undefined if it is not installed. */
export const chromiumPath = findProgram(['chromium', 'google-chrome', 'chromium-browser'])

/** Starts a headless Chromium, and a server of this package's files. */
export async function startChromium() {
  const chromium = new Chromium()
  await chromium.start()
  return chromium
}

class Chromium extends PageServer {
  #nextID = 1
  #requests = new Map()
  /** What waits for the load event of each page. */
  #loaded = new Map()
  #folder = mkdtempSync(join(tmpdir(), 'postline-chromium-'))

  async start() {
    await super.start()
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
    super.stop()
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 5 })
  }
}
