/** @typedef {{ conversation_id: string, user_id: string, is_typing: boolean, expires_in?: number }} TypingNotice */

/** The users who are typing: each until its notice expires, it stops, or its message arrives. */
export class Typists {
  /** @type {Map<string, Map<string, any>>} */
  #timers = new Map()
  /** @type {Readonly<Record<string, string[]>>} */
  #snapshot = {}

  /** @param {(conversationID: string) => void} onChange */
  constructor(onChange) { this.onChange = onChange }

  /** The ids of the users who type, by conversation, in the order in which they began. */
  get snapshot() { return this.#snapshot }

  /** @param {TypingNotice} notice */
  receive({ conversation_id, user_id, is_typing, expires_in = 6 }) {
    if (!is_typing) return this.end(conversation_id, user_id)
    const timers = this.#timers.get(conversation_id) ?? new Map()
    this.#timers.set(conversation_id, timers)
    const isNew = !timers.has(user_id)
    clearTimeout(timers.get(user_id))
    timers.set(user_id, setTimeout(() => this.end(conversation_id, user_id), expires_in * 1000))
    if (isNew) this.#changed(conversation_id)
  }

  /**
   * @param {string} conversationID
   * @param {string} userID
   */
  end(conversationID, userID) {
    const timers = this.#timers.get(conversationID)
    if (!timers?.has(userID)) return
    clearTimeout(timers.get(userID))
    timers.delete(userID)
    if (!timers.size) this.#timers.delete(conversationID)
    this.#changed(conversationID)
  }

  /** Without a connection no user is shown as typing. */
  clear() {
    for (const [id, timers] of this.#timers) {
      for (const timer of timers.values()) clearTimeout(timer)
      this.#timers.delete(id)
      this.#changed(id)
    }
  }

  /** @param {string} conversationID */
  #changed(conversationID) {
    const { [conversationID]: former, ...others } = this.#snapshot
    const ids = [...this.#timers.get(conversationID)?.keys() ?? []]
    this.#snapshot = ids.length ? { ...others, [conversationID]: ids } : others
    this.onChange(conversationID)
  }
}
