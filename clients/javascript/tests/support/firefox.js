import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { findProgram, PageServer } from './page-server.js'
import { TestWebSocket } from './websocket.js'

/** The path of Firefox, or undefined if it is not installed. */
export const firefoxPath = findProgram(['firefox', 'firefox-esr'])

/** Starts a headless Firefox, and a server of this package's files. */
export async function startFirefox() {
  const firefox = new Firefox()
  await firefox.start()
  return firefox
}

/** A Firefox that is driven by WebDriver BiDi, which needs no other program. */
class Firefox extends PageServer {
  #nextID = 1
  #requests = new Map()
  #folder = mkdtempSync(join(tmpdir(), 'postline-firefox-'))
  #process
  #socket

  async start() {
    await super.start()
    this.#process = spawn(firefoxPath, [
      '--headless', '--remote-debugging-port=0', '--profile', this.#folder, 'about:blank',
    ], { stdio: ['ignore', 'ignore', 'pipe'], env: { ...process.env, HOME: this.#folder } })
    for await (const line of createInterface({ input: this.#process.stderr })) {
      const [, address] = /WebDriver BiDi listening on (\S+)/.exec(line) ?? []
      if (!address) continue
      this.#process.stderr.resume()
      return this.#connect(address)
    }
    throw new Error('Firefox did not start.')
  }

  /** @param {string} address */
  async #connect(address) {
    this.#socket = new TestWebSocket(`${address}/session`)
    this.#socket.onmessage = ({ data }) => {
      const { id, type, result, message } = JSON.parse(data)
      const request = this.#requests.get(id)
      if (!request) return
      this.#requests.delete(id)
      if (type === 'error') request.reject(new Error(message))
      else request.resolve(result)
    }
    await new Promise((opened) => { this.#socket.onopen = opened })
    await this.#call('session.new', { capabilities: {} })
  }

  #call(method, params) {
    const id = this.#nextID++
    this.#socket.send(JSON.stringify({ id, method, params }))
    return new Promise((resolve, reject) => this.#requests.set(id, { resolve, reject }))
  }

  /** Opens a page of the package's server in the same profile, and returns `run` and `close`. */
  async open(path = '/') {
    const { context } = await this.#call('browsingContext.create', { type: 'tab' })
    await this.#call('browsingContext.navigate', { context, url: this.origin + path, wait: 'complete' })
    return {
      /** Runs the body of an async function in the page, and returns its value. */
      run: async (body) => {
        // As JSON, because the protocol's values are another form.
        const { type, result, exceptionDetails } = await this.#call('script.evaluate', {
          expression: `(async () => JSON.stringify(await (async () => { ${body} })()) ?? 'null')()`,
          awaitPromise: true, target: { context },
        })
        if (type === 'exception') throw new Error(exceptionDetails.text)
        return JSON.parse(result.value)
      },
      close: () => this.#call('browsingContext.close', { context }),
    }
  }

  async stop() {
    const exited = new Promise((ended) => this.#process.once('exit', ended))
    this.#call('browser.close', {}).catch(() => {})
    await exited
    super.stop()
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 5 })
  }
}
