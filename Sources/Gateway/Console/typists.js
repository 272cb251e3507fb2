// Who is typing where: each for as long as it was said to hold, and no longer than the connection that said it.

export class Typists {
  /// The timers by conversation and user, in the order in which they began.
  #timers = new Map()
  #onChange

  constructor(onChange) { this.#onChange = onChange }

  /// Takes in the params of the push `typing`.
  take({ conversation_id: conversationID, user_id: userID, is_typing: isTyping, expires_in: seconds }) {
    if (!isTyping) return this.end(conversationID, userID)
    const timers = this.#timers.get(conversationID) ?? new Map()
    this.#timers.set(conversationID, timers)
    clearTimeout(timers.get(userID))
    timers.set(userID, setTimeout(() => this.end(conversationID, userID), seconds * 1000))
    this.#onChange()
  }

  /// Removes a user who stopped typing: a message arrived, or the time is over.
  end(conversationID, userID) {
    const timers = this.#timers.get(conversationID)
    if (!timers?.has(userID)) return
    clearTimeout(timers.get(userID))
    timers.delete(userID)
    if (!timers.size) this.#timers.delete(conversationID)
    this.#onChange()
  }

  clear() {
    for (const timers of this.#timers.values()) for (const timer of timers.values()) clearTimeout(timer)
    this.#timers.clear()
  }

  /// The ids of those who type there, who began first first.
  of(conversationID) { return [...this.#timers.get(conversationID)?.keys() ?? []] }
}

/// Returns a text about who is typing, or an empty one. A name that is shown above anyway is omitted.
export function typingText(store, conversation, isNamed = conversation.kind === 'group') {
  const ids = store.typists(conversation)
  if (!ids.length) return ''
  if (!isNamed) return 'is typing'
  if (ids.length === 1) return `${store.name(ids[0])} is typing`
  // Of more than one, whole names would leave no room for what they do.
  const names = ids.map((id) => store.name(id).split(' ')[0])
  if (names.length < 4) return `${names.slice(0, -1).join(', ')} and ${names.at(-1)} are typing`
  return `${names[0]}, ${names[1]} and ${names.length - 2} others are typing`
}
