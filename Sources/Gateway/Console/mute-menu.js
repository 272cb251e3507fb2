// The button above a conversation that mutes it, and its menu of durations.

import { arrowKeys, h } from './dom.js'
import { sentence } from './errors.js'
import { icon } from './icons.js'
import { toast } from './notice.js'
import { soon, tomorrowAt } from './time.js'

/// The hour of the day at which "until tomorrow" ends.
const morning = 8
/// The server's value for "always" is in the year 9999.
const alwaysYear = 9000

export class MuteMenu {
  #app
  #conversation = null
  #drawn = null
  #button
  #title = h('p', { class: 'menu-title', id: 'mute-title' })
  #items = h('div', { role: 'menu', 'aria-labelledby': 'mute-title' })
  #popover
  #enter
  element

  constructor(app) {
    this.#app = app
    this.#enter = arrowKeys(this.#items, '[role=menuitem]')
    this.#popover = h('div', {
      class: 'menu', popover: 'auto',
      onbeforetoggle: ({ newState }) => { if (newState === 'open') this.#place() },
      ontoggle: ({ newState }) => {
        this.#button.setAttribute('aria-expanded', String(newState === 'open'))
        if (newState === 'open') this.#items.firstElementChild.focus()
      },
      onkeydown: (event) => {
        if (event.key !== 'Escape' && event.key !== 'Tab') return
        // Esc is for the menu alone here, and Tab goes on from the button.
        event.stopPropagation()
        if (event.key === 'Escape') event.preventDefault()
        this.#popover.hidePopover()
      },
    }, this.#title, this.#items)
    this.#button = h('button', {
      class: 'icon-button', type: 'button', 'aria-haspopup': 'menu', 'aria-expanded': 'false',
      popoverTargetElement: this.#popover,
    })
    addEventListener('resize', () => this.#close())
    this.element = h('div', { class: 'mute', hidden: true }, this.#button, this.#popover)
  }

  /// A server that does not know of it says nothing of it, and then there is no button.
  show(conversation) {
    const { directory } = this.#app
    const isSame = this.#conversation?.id === conversation?.id
    this.#conversation = conversation
    this.element.hidden = conversation?.muted_until === undefined
    if (!isSame || this.element.hidden) this.#close()
    if (this.element.hidden) return
    const until = directory.mutedUntil(conversation)
    const state = until === null ? 'Mute'
      : until.getUTCFullYear() >= alwaysYear ? 'Muted' : `Muted until ${soon(until)}`
    if (state === this.#drawn) return
    this.#drawn = state
    this.#button.setAttribute('aria-label', state)
    this.#button.title = state
    this.#button.replaceChildren(icon(until ? 'muted' : 'bell'))
    this.#title.textContent = state
    const item = (text, params) => h('button', {
      class: 'menu-item', type: 'button', role: 'menuitem', tabIndex: -1, onclick: () => this.#mute(params),
    }, text)
    this.#items.replaceChildren(
      ...(until ? [item('Unmute', () => ({ until: null }))] : []),
      item('For an hour', () => ({ until: new Date(Date.now() + 3_600_000).toISOString() })),
      item(`Until tomorrow, ${morning}:00`, () => ({ until: tomorrowAt(morning).toISOString() })),
      item('Always', () => ({})))
    this.#enter()
  }

  /// Under the button, and over whatever else there is.
  #place() {
    const { bottom, right } = this.#button.getBoundingClientRect()
    this.#popover.style.top = `${bottom + 4}px`
    this.#popover.style.right = `${document.documentElement.clientWidth - right}px`
  }

  #close() { if (this.#popover.matches(':popover-open')) this.#popover.hidePopover() }

  async #mute(params) {
    this.#close()
    try {
      await this.#app.client.call('conversations.mute', { conversation_id: this.#conversation.id, ...params() })
    } catch (error) {
      toast(sentence(error, null, 'That needs a connection.'), 'bad')
    }
  }
}
