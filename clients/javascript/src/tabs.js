import { ChannelLock } from './channel-lock.js'
import { uuid } from './uuid.js'

/**
 * What a tab of an environment needs to find the others. Browsers have both; tests bring their own.
 *
 * @typedef {object} TabEnvironment
 * @property {any} [locks] The interface of `navigator.locks`.
 * @property {any} [BroadcastChannel] The constructor.
 */

/**
 * The tabs that share a storage. One of them leads: it alone has a connection, and writes what the server sends. The
 * others show what it writes, and call methods through it. If it is closed, another leads.
 */
export class Tabs {
  id = uuid()
  isLeader = false
  #channel
  #locks
  #lockName
  /** Ends the lead, or the wait for it. */
  #release = () => {}
  #isClosed = false
  /** Called when this tab begins or ends to lead. */
  onLead = (/** @type {boolean} */ _isLeader) => {}
  /** Called with each message of another tab. */
  onMessage = (/** @type {any} */ _message) => {}

  /**
   * @param {import('./storage.js').Storage} storage
   * @param {TabEnvironment} environment
   */
  constructor({ name, isShared }, { locks, BroadcastChannel }) {
    this.#lockName = `postline/${name}`
    this.#locks = locks
    this.#channel = isShared && BroadcastChannel ? new BroadcastChannel(this.#lockName) : null
    if (!this.#channel) return
    this.#channel.onmessage = (/** @type {{ data: any }} */ { data }) => {
      if (!this.#isClosed && (data.to === undefined || data.to === this.id)) this.onMessage(data)
    }
    // In Node an open channel would keep the process.
    this.#channel.unref?.()
  }

  /** Waits for the lead. Call it once the tab can take it. */
  start() {
    if (!this.#channel) return this.#lead(true)
    if (!this.#locks) {
      const lock = new ChannelLock(this.#channel, this.id, (isHeld) => this.#lead(isHeld))
      this.#release = () => lock.release()
      return
    }
    const controller = new AbortController()
    this.#release = () => controller.abort()
    this.#locks.request(this.#lockName, { signal: controller.signal }, () => {
      if (this.#isClosed) return
      this.#lead(true)
      return new Promise((/** @type {(value?: any) => void} */ resolve) => { this.#release = () => resolve() })
    }).catch(() => {
      // The tab was closed before it led.
    })
  }

  /**
   * Sends a message to the other tabs, or to the one with the id `to`.
   *
   * @param {{ type: string, to?: string, [name: string]: any }} message
   */
  post(message) {
    if (!this.#isClosed) this.#channel?.postMessage({ ...message, from: this.id })
  }

  close() {
    this.#isClosed = true
    this.isLeader = false
    this.#release()
    this.#channel?.close()
  }

  /** @param {boolean} isLeader */
  #lead(isLeader) {
    if (this.#isClosed || this.isLeader === isLeader) return
    this.isLeader = isLeader
    this.onLead(isLeader)
  }
}
