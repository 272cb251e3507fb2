import { offlineError, PostlineError } from './errors.js'
import { uuid } from './uuid.js'

/** A leader that does not answer has crashed, or its page is frozen. */
const answerTimeout = 30_000

/** The engine of a tab that does not lead: it passes calls on to the leading tab. */
export class RemoteEngine {
  /** @type {Map<string, { resolve: (result: any) => void, reject: (error: Error) => void, timer: any }>} */
  #calls = new Map()
  #leaderID = ''
  /**
   * The server's hello on the leader's connection.
   *
   * @type {import('./connection.js').ServerHello | null}
   */
  hello = null

  /** @param {import('./tabs.js').Tabs} tabs */
  constructor(tabs) { this.tabs = tabs }

  /**
   * Takes the state of the leader. Another one than before does not answer the calls to that.
   *
   * @param {string} leaderID
   * @param {import('./connection.js').ServerHello | null} hello
   */
  follow(leaderID, hello) {
    if (this.#leaderID && this.#leaderID !== leaderID) this.stop()
    this.#leaderID = leaderID
    this.hello = hello
  }

  /**
   * @param {string} method
   * @param {object} [params]
   * @returns {Promise<any>}
   */
  call(method, params = {}) {
    const id = uuid()
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => this.#settle(id, () => reject(offlineError())), answerTimeout)
      this.#calls.set(id, { resolve, reject, timer })
      this.tabs.post({ type: 'call', id, method, params })
    })
  }

  /**
   * Takes the answer of the leader.
   *
   * @param {{ id: string, result?: any, error?: any }} message
   */
  receive({ id, result, error }) {
    this.#settle(id, ({ resolve, reject }) => {
      if (error) reject(PostlineError.fromJSON(error))
      else resolve(result)
    })
  }

  /**
   * @param {string} id
   * @param {(call: { resolve: (result: any) => void, reject: (error: Error) => void }) => void} settle
   */
  #settle(id, settle) {
    const call = this.#calls.get(id)
    if (!call) return
    this.#calls.delete(id)
    clearTimeout(call.timer)
    settle(call)
  }

  /** The leader is gone, with the calls on their way. */
  stop() { for (const id of [...this.#calls.keys()]) this.#settle(id, ({ reject }) => reject(offlineError())) }

  /** The writes of the outbox themselves wake the leader. */
  wakeOutbox() {}

  retryNow() { this.#pass('retryNow') }

  /**
   * @param {string} conversationID
   * @param {boolean} isTyping
   */
  setTyping(conversationID, isTyping) { this.#pass('setTyping', conversationID, isTyping) }

  /** @param {string} conversationID */
  messageSent(conversationID) { this.#pass('messageSent', conversationID) }

  /** @param {boolean} isVisible */
  setVisible(isVisible) { this.tabs.post({ type: 'visible', isVisible }) }

  /**
   * Calls a method of the leader's engine.
   *
   * @param {'retryNow' | 'setTyping' | 'messageSent'} method
   * @param {any[]} values
   */
  #pass(method, ...values) { this.tabs.post({ type: 'pass', method, values }) }
}
