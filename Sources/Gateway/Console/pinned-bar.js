// The bar above the messages with the pinned ones: one at a time, the last pinned first.

import { h } from './dom.js'
import { sentence } from './errors.js'
import { icon } from './icons.js'
import { mayPin } from './message-actions.js'
import { toast } from './notice.js'
import { quotedName, quotedText } from './reply-quote.js'

export class PinnedBar {
  #app
  #show
  #chat = null
  #seqs = []
  #index = 0
  /// The pinned messages that are not among those that the chat has loaded, by number.
  #fetched = new Map()
  #count = h('span', { class: 'pinned-count' }, 'Pinned message')
  #text = h('span', { class: 'row-preview', dir: 'auto' })
  #unpin
  element

  /// `show` is called with the number of a message.
  constructor(app, show) {
    this.#app = app
    this.#show = show
    this.#unpin = h('button', {
      class: 'icon-button', type: 'button', 'aria-label': 'Unpin this message', title: 'Unpin this message',
      onclick: () => this.#remove(),
    }, icon('close'))
    this.element = h('section', { class: 'pinned-bar', 'aria-label': 'Pinned messages', hidden: true },
      h('button', {
        class: 'pinned-message', type: 'button', title: 'Go to the pinned message', onclick: () => this.#go(),
      }, icon('pin'), h('span', { class: 'row-text' }, this.#count, this.#text)),
      this.#unpin)
  }

  /// Shows the pinned messages of a conversation.
  render(chat) {
    const { conversation } = chat
    if (this.#chat !== chat) {
      this.#chat = chat
      this.#index = 0
      this.#fetched.clear()
    }
    this.#seqs = conversation.pinned_seqs
    this.#index = Math.min(this.#index, Math.max(0, this.#seqs.length - 1))
    this.element.hidden = this.#seqs.length === 0
    if (this.element.hidden) return
    const count = this.#seqs.length > 1 ? `Pinned message ${this.#index + 1} of ${this.#seqs.length}` : 'Pinned message'
    const message = this.#message(this.#seqs[this.#index])
    const text = message ? `${quotedName(this.#app.directory, message)}: ${quotedText(message)}` : '…'
    if (this.#count.textContent !== count) this.#count.textContent = count
    if (this.#text.textContent !== text) this.#text.textContent = text
    this.#unpin.hidden = !mayPin(this.#app.directory, conversation)
  }

  /// Returns a message of the chat, or null until it has come from the server.
  #message(seq) {
    const loaded = this.#chat.messages.find((message) => message.seq === seq)
    if (loaded) return loaded
    if (!this.#fetched.has(seq)) this.#fetch(this.#chat, seq)
    return this.#fetched.get(seq)
  }

  async #fetch(chat, seq) {
    if (this.#app.client.state.name !== 'live') return
    this.#fetched.set(seq, null)
    try {
      const params = { conversation_id: chat.id, after_seq: seq - 1, limit: 1 }
      const { messages: [message] } = await this.#app.client.call('messages.list', params)
      if (this.#chat !== chat) return
      this.#fetched.set(seq, message && { ...message, is_blocked: this.#app.client.isBlocked(message) })
      this.#app.schedule()
    } catch {
      // It is asked for again when the bar is drawn.
      if (this.#chat === chat) this.#fetched.delete(seq)
    }
  }

  /// Shows the message in its place. The next press shows the one that was pinned before it.
  #go() {
    this.#show(this.#seqs[this.#index])
    this.#index = (this.#index + 1) % this.#seqs.length
    this.#app.schedule()
  }

  #remove() {
    const seq = this.#seqs[this.#index]
    this.#chat.pin({ seq }, false).catch((error) => toast(sentence(error), 'bad'))
  }
}
