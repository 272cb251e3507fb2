// What the user has written and not sent, by conversation. Drafts survive a reload, and are removed at sign-out.

const prefix = 'postline.draft.'

export class Drafts {
  #userID

  /// The user whose drafts these are. Another tab may have another user signed in.
  belongTo(userID) { this.#userID = userID }

  of(conversationID) { return localStorage.getItem(this.#key(conversationID)) ?? '' }

  keep(conversationID, text) {
    try {
      if (text.trim()) localStorage.setItem(this.#key(conversationID), text)
      else localStorage.removeItem(this.#key(conversationID))
    } catch {
      // The storage is full: the text stays in its field.
    }
  }

  clear() {
    const own = this.#key('')
    for (const key of Object.keys(localStorage)) if (key.startsWith(own)) localStorage.removeItem(key)
  }

  #key(conversationID) { return `${prefix}${this.#userID}.${conversationID}` }
}
