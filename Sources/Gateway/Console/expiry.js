// After what time the messages of a conversation are deleted.

import { confirm } from './dialog.js'
import { h } from './dom.js'
import { sentence } from './errors.js'
import { toast } from './notice.js'

const choices = [
  [null, 'Never'], [3_600, 'After an hour'], [86_400, 'After a day'], [604_800, 'After a week'],
  [2_592_000, 'After 30 days'],
]

/// Returns a time in words: `2 days`.
export function ttlText(seconds) {
  const [size, unit] = [[604_800, 'week'], [86_400, 'day'], [3_600, 'hour'], [60, 'minute'], [1, 'second']]
    .find(([size]) => seconds % size === 0)
  return new Intl.NumberFormat('en', { style: 'unit', unit, unitDisplay: 'long' }).format(seconds / size)
}

/// The choice of a time. `show` draws it for a conversation, or hides it for none or on an older server.
export class ExpiryChoice {
  #app
  #id = null
  #drawn = null
  #select = h('select', { id: 'expiry', onchange: () => this.#set() })
  element = h('div', { class: 'field expiry', hidden: true },
    h('label', { for: 'expiry' }, 'Delete messages'), this.#select)

  constructor(app) { this.#app = app }

  show(conversation) {
    const ttl = conversation?.message_ttl_seconds
    this.element.hidden = ttl === undefined
    if (ttl === undefined) return
    const role = this.#app.directory.role(conversation)
    const mayChange = conversation.kind === 'direct' ? !conversation.is_blocked : role === 'owner' || role === 'admin'
    const drawn = [conversation.id, ttl, mayChange].join()
    if (drawn === this.#drawn) return
    this.#drawn = drawn
    this.#id = conversation.id
    this.#select.disabled = !mayChange
    const others = choices.some(([seconds]) => seconds === ttl) ? [] : [[ttl, `After ${ttlText(ttl)}`]]
    this.#select.replaceChildren(...[...choices, ...others].map(([seconds, label]) => {
      return h('option', { value: String(seconds ?? ''), selected: seconds === ttl }, label)
    }))
  }

  async #set() {
    const message_ttl_seconds = this.#select.value ? Number(this.#select.value) : null
    const time = this.#select.selectedOptions[0].text.toLowerCase()
    const isAgreed = message_ttl_seconds === null || await confirm({
      title: `Delete messages ${time}?`,
      text: 'Messages that are older are deleted too, for everyone here. This cannot be undone.',
      action: `Delete ${time}`,
    })
    if (!isAgreed) return this.#reset()
    try {
      await this.#app.client.call('conversations.update', { conversation_id: this.#id, message_ttl_seconds })
    } catch (error) {
      toast(sentence(error, null, 'That needs a connection.'), 'bad')
      this.#reset()
    }
  }

  /// Shows the time that is in force again.
  #reset() {
    this.#drawn = null
    this.show(this.#app.client.conversation(this.#id))
  }
}
