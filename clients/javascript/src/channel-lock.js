/** A holder answers at once, unless its page is frozen. */
const answerTimeout = 500
/** A holder that does not answer any more has crashed. */
const checkInterval = 10_000

/**
 * A lock over a BroadcastChannel, for pages without Web Locks, such as those without TLS. Two tabs may hold it for a
 * moment after one of them was frozen; the one that held it longer then gives it up.
 */
export class ChannelLock {
  #isHeld = false
  /** @type {any} */
  #timer

  /**
   * @param {any} channel
   * @param {string} id
   * @param {(isHeld: boolean) => void} onChange
   */
  constructor(channel, id, onChange) {
    this.channel = channel
    this.id = id
    this.onChange = onChange
    this.listener = (/** @type {{ data: any }} */ { data }) => this.#receive(data)
    channel.addEventListener('message', this.listener)
    this.#claim()
  }

  #claim() {
    this.#post('lock.claim')
    this.#after(answerTimeout, () => {
      this.#isHeld = true
      this.#post('lock.acquired')
      this.onChange(true)
    })
  }

  /**
   * @param {number} milliseconds
   * @param {() => void} action In place of the last one.
   */
  #after(milliseconds, action) {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(action, milliseconds)
    this.#timer.unref?.()
  }

  /** @param {{ type: string, from: string }} message */
  #receive({ type, from }) {
    if (type === 'lock.claim') {
      // Of two tabs that claim at the same time, the one with the lower id wins.
      if (this.#isHeld || from > this.id) this.#post('lock.held')
    } else if (type === 'lock.held' || type === 'lock.acquired') {
      if (this.#isHeld && type === 'lock.held') return
      if (this.#isHeld) {
        this.#isHeld = false
        this.onChange(false)
      }
      this.#after(checkInterval, () => this.#claim())
    } else if (type === 'lock.released' && !this.#isHeld) this.#claim()
  }

  release() {
    clearTimeout(this.#timer)
    this.channel.removeEventListener('message', this.listener)
    if (this.#isHeld) this.#post('lock.released')
    this.#isHeld = false
  }

  /** @param {string} type */
  #post(type) { this.channel.postMessage({ type, from: this.id }) }
}
