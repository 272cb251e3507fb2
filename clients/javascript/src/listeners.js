import { invalidParams } from './errors.js'

/**
 * The functions of an app that are called with each event.
 *
 * @template {any[]} T The arguments.
 */
export class Listeners {
  /** @type {Set<(...values: T) => void>} */
  #all = new Set()

  get size() { return this.#all.size }

  /**
   * Adds a listener. Returns a function that removes it.
   *
   * @param {(...values: T) => void} listener
   * @throws {PostlineError} `invalid_params`
   */
  add(listener) {
    if (typeof listener !== 'function') throw invalidParams('listener', 'A listener must be a function.')
    this.#all.add(listener)
    return () => { this.#all.delete(listener) }
  }

  /**
   * Calls all listeners. What one throws is an uncaught exception of the app, and stops nothing else.
   *
   * @param {T} values
   */
  call(...values) {
    for (const listener of [...this.#all]) {
      try {
        listener(...values)
      } catch (error) {
        setTimeout(() => { throw error })
      }
    }
  }
}
