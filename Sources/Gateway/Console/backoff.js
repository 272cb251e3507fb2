// How long to wait before the next attempt: longer each time, and never at one moment for all.

export class Backoff {
  #base
  #limit
  #attempts = 0

  /// Both in milliseconds.
  constructor(base = 500, limit = 8000) {
    this.#base = base
    this.#limit = limit
  }

  next() {
    const whole = Math.min(this.#limit, this.#base * 2 ** this.#attempts)
    this.#attempts += 1
    return whole / 2 + Math.random() * whole / 2
  }

  reset() {
    this.#attempts = 0
  }
}
