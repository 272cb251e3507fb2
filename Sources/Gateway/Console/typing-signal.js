// Tells the others of a conversation that the user is typing there, and when that is over.

/// The server passes on one in two seconds; a little longer, so that none comes too early there.
const restMilliseconds = 2100

export class TypingSignal {
  #link
  /// By conversation: what was told last, when, and what is to be told once that rested.
  #states = new Map()

  constructor(link) { this.#link = link }

  /// Sets whether the user is typing. Call it at every keystroke.
  set(conversationID, isTyping) {
    if (!this.#link.has('typing')) return this.#clear()
    const state = this.#states.get(conversationID) ?? { isTold: false, toldAt: -Infinity, timer: null }
    this.#states.set(conversationID, state)
    state.isTyping = isTyping
    const wait = state.toldAt + restMilliseconds - performance.now()
    if (state.timer || !isTyping && !state.isTold) return
    if (wait <= 0) this.#tell(conversationID, state)
    else if (isTyping !== state.isTold) state.timer = setTimeout(() => this.#tell(conversationID, state), wait)
  }

  #tell(conversationID, state) {
    state.timer = null
    // It began and ended while the last one rested, or the other way round.
    if (!state.isTyping && !state.isTold) return
    state.isTold = state.isTyping
    state.toldAt = performance.now()
    this.#link.call('conversations.typing', { conversation_id: conversationID, is_typing: state.isTyping })
      // What is lost of it is lost without harm.
      .catch(() => {})
  }

  /// A connection that is gone took with it what was told on it.
  #clear() {
    for (const { timer } of this.#states.values()) clearTimeout(timer)
    this.#states.clear()
  }
}
