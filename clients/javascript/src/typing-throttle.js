/** The server passes one notice on every 2 s. The margin lets none come too early. */
const minimumInterval = 2100
/** Notices expire after 6 s, so they are repeated while the user types. */
const repeatInterval = 3000

/** @typedef {{ isTyping: boolean, lastSent: boolean, sentAt: number, timer: any }} Entry */

/** Sends the user's typing notices: not more often than the server passes them on, and before they expire. */
export class TypingThrottle {
  /** @type {Map<string, Entry>} */
  #entries = new Map()

  /** @param {(conversationID: string, isTyping: boolean) => void} send */
  constructor(send) { this.send = send }

  /**
   * Sets whether the user types. Call it at every keystroke.
   *
   * @param {string} conversationID
   * @param {boolean} isTyping
   */
  set(conversationID, isTyping) {
    const entry = this.#entries.get(conversationID) ?? { isTyping, lastSent: false, sentAt: -Infinity, timer: null }
    this.#entries.set(conversationID, entry)
    entry.isTyping = isTyping
    if (isTyping && Date.now() - entry.sentAt >= repeatInterval) entry.lastSent = false
    this.#update(conversationID, entry)
  }

  /**
   * Ends the typing after a message, which needs no notice.
   *
   * @param {string} conversationID
   */
  messageSent(conversationID) {
    const entry = this.#entries.get(conversationID)
    if (entry) entry.isTyping = entry.lastSent = false
  }

  /**
   * @param {string} conversationID
   * @param {Entry} entry
   */
  #update(conversationID, entry) {
    if (entry.timer || entry.isTyping === entry.lastSent) return
    const wait = entry.sentAt + minimumInterval - Date.now()
    if (wait > 0) {
      entry.timer = setTimeout(() => {
        entry.timer = null
        this.#update(conversationID, entry)
      }, wait)
      return
    }
    entry.lastSent = entry.isTyping
    entry.sentAt = Date.now()
    this.send(conversationID, entry.isTyping)
  }

  /** The connection that knew what was sent is gone. */
  clear() {
    for (const { timer } of this.#entries.values()) clearTimeout(timer)
    this.#entries.clear()
  }
}
