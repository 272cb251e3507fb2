/** The server passes acknowledgements on once a second. */
const minimumInterval = 1000

/** Tells the server that the device has stored messages, at most once a second. */
export class AcknowledgementThrottle {
  /** @type {any} */
  #timer = null
  #isDue = false

  /** @param {() => void} send */
  constructor(send) { this.send = send }

  /** Sends at once, or when a second has passed since the last time. */
  request() {
    if (this.#timer) {
      this.#isDue = true
      return
    }
    this.send()
    this.#timer = setTimeout(() => {
      this.#timer = null
      if (!this.#isDue) return
      this.#isDue = false
      this.request()
    }, minimumInterval)
    // The timer keeps no program from ending.
    this.#timer?.unref?.()
  }

  /** The connection is gone. */
  clear() {
    clearTimeout(this.#timer)
    this.#timer = null
    this.#isDue = false
  }
}
