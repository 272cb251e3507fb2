// The messages that are on their way. Each has a client_id from its beginning, so that however often it is sent, over
// any number of connections, it is kept once.

import { uuid } from './dom.js'

const key = 'postline.outbox'

export class Outbox {
  /// In the order in which they were written.
  #messages = JSON.parse(sessionStorage.getItem(key) ?? '[]')
  onChange = () => {}

  add(userID, conversationID, content) {
    this.#messages.push({
      clientID: uuid(), userID, conversationID, content, writtenAt: new Date().toISOString(), failure: null,
    })
    this.#changed()
  }

  of(conversationID) { return this.#messages.filter((message) => message.conversationID === conversationID) }

  /// The next to be sent; what the server refused waits for its writer.
  next() { return this.#messages.find((message) => message.failure === null) }

  get waiting() { return this.#messages.filter((message) => message.failure === null).length }

  settle(clientID) {
    const before = this.#messages.length
    this.#messages = this.#messages.filter((message) => message.clientID !== clientID)
    if (this.#messages.length !== before) this.#changed()
  }

  fail(clientID, sentence) { this.#mark(clientID, sentence) }

  retry(clientID) { this.#mark(clientID, null) }

  #mark(clientID, failure) {
    const message = this.#messages.find((message) => message.clientID === clientID)
    if (!message) return
    message.failure = failure
    this.#changed()
  }

  /// Drops the messages of other users of this tab.
  keepOnly(userID) {
    this.#messages = this.#messages.filter((message) => message.userID === userID)
    this.#changed()
  }

  #changed() {
    sessionStorage.setItem(key, JSON.stringify(this.#messages))
    this.onChange()
  }
}
