import { setImmediate } from 'node:timers'
import { memoryStorage } from '../../src/index.js'

/** The browser around several tabs: their BroadcastChannels, and Web Locks unless `hasLocks` is false. */
export class TabEnvironment {
  #channels = new Set()
  /** The holders and waiters of each lock, in order. */
  #queues = new Map()

  constructor({ hasLocks = true } = {}) {
    const environment = this
    this.storage = { ...memoryStorage(), isShared: true }
    this.BroadcastChannel = class {
      #listeners = new Set()

      constructor(name) {
        this.name = name
        environment.#channels.add(this)
      }

      addEventListener(_type, listener) { this.#listeners.add(listener) }

      removeEventListener(_type, listener) { this.#listeners.delete(listener) }

      postMessage(message) {
        for (const channel of environment.#channels) {
          if (channel === this || channel.name !== this.name) continue
          // As between processes: a copy, and later.
          const data = structuredClone(message)
          setImmediate(() => {
            if (!environment.#channels.has(channel)) return
            channel.onmessage?.({ data })
            for (const listener of [...channel.#listeners]) listener({ data })
          })
        }
      }

      close() { environment.#channels.delete(this) }
    }
    if (!hasLocks) return
    this.locks = {
      request: (name, { signal }, action) => new Promise((resolve, reject) => {
        const queue = environment.#queues.get(name) ?? []
        environment.#queues.set(name, queue)
        const run = async () => {
          await action()
          queue.shift()
          resolve()
          queue[0]?.()
        }
        signal.addEventListener('abort', () => {
          const index = queue.indexOf(run)
          if (index > 0) queue.splice(index, 1)
          reject(signal.reason)
        })
        queue.push(run)
        if (queue.length === 1) setImmediate(run)
      }),
    }
  }

  /** The options of a client in a tab. */
  get options() {
    return { storage: this.storage, tabs: { locks: this.locks, BroadcastChannel: this.BroadcastChannel } }
  }
}
