import { Chat } from './chat.js'

/** The chats of a client. One without a listener lasts as long as the app holds it. */
export class Chats {
  /** @type {Map<string, WeakRef<Chat>>} */
  #references = new Map()
  /** @type {Set<Chat>} */
  #kept = new Set()

  /** @param {Omit<import('./chat.js').ChatClient, 'keep'>} client */
  constructor(client) {
    /** @type {import('./chat.js').ChatClient} */
    this.client = { ...client, keep: (chat, isKept) => { this.#kept[isKept ? 'add' : 'delete'](chat) } }
  }

  /**
   * Returns the chat of a conversation. The same conversation has the same object while it lasts.
   *
   * @param {string} id
   * @param {import('./user-data.js').UserData | null} user
   */
  get(id, user) {
    const held = this.#references.get(id)?.deref()
    if (held) return held
    const chat = new Chat(id, this.client)
    this.#references.set(id, makeWeakRef(chat))
    chat.attach(user)
    return chat
  }

  /**
   * @param {string} id
   */
  update(id) { this.#references.get(id)?.deref()?.update() }

  /** @param {(chat: Chat) => void} action */
  each(action) {
    for (const [id, reference] of this.#references) {
      const chat = reference.deref()
      if (chat) action(chat)
      else this.#references.delete(id)
    }
  }
}

/**
 * Returns a weak reference, or a strong one where there are none.
 *
 * @param {Chat} chat
 * @returns {WeakRef<Chat>}
 */
function makeWeakRef(chat) {
  return typeof WeakRef === 'function' ? new WeakRef(chat) : /** @type {any} */ ({ deref: () => chat })
}
