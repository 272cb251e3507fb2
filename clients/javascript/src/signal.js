/** A signal that wakes a task that waits. A signal before the wait is not lost, and several count as one. */
export class Signal {
  #isSet = false
  /** @type {(() => void) | undefined} */
  #wake

  signal() {
    if (this.#wake) this.#wake()
    else this.#isSet = true
  }

  /**
   * Resolves at the next signal, or after a time.
   *
   * @param {number} [milliseconds]
   */
  async wait(milliseconds = Infinity) {
    if (this.#isSet) {
      this.#isSet = false
      return
    }
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let timer
    await new Promise((/** @type {(value?: undefined) => void} */ resolve) => {
      this.#wake = resolve
      // Beyond 2^31 ms a timer would fire at once.
      if (milliseconds < 2 ** 31) timer = setTimeout(resolve, milliseconds)
    })
    clearTimeout(timer)
    this.#wake = undefined
  }
}

/**
 * Waits for a promise, at most for a time.
 *
 * @param {number} milliseconds
 * @param {Promise<any>} promise
 */
export async function within(milliseconds, promise) {
  /** @type {any} */
  let timer
  await Promise.race([promise, new Promise((resolve) => { timer = setTimeout(resolve, milliseconds) })])
  clearTimeout(timer)
}
