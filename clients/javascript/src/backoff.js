/**
 * The delays before repeated attempts, in milliseconds: doubled with each, with jitter, so that the clients of a node
 * that restarts do not return at the same moment.
 */
export class Backoff {
  #attempts = 0

  /**
   * @param {number} [base]
   * @param {number} [limit]
   * @param {() => number} [random]
   */
  constructor(base = 500, limit = 30_000, random = Math.random) {
    this.base = base
    this.limit = limit
    this.random = random
  }

  /** Returns the next delay. */
  next() {
    const longest = Math.min(this.limit, this.base * 2 ** this.#attempts)
    this.#attempts += 1
    return longest / 2 + this.random() * longest / 2
  }

  reset() { this.#attempts = 0 }
}
