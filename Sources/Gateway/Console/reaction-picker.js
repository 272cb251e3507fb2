// The picker of reactions: a grid of emojis at a message.

import { h } from './dom.js'
import { react } from './reactions.js'

const columns = 6
const margin = 8
const emojis = [
  ['👍', 'Thumbs up'], ['❤️', 'Heart'], ['😂', 'Tears of joy'], ['😮', 'Surprised'], ['😢', 'Crying'], ['🙏', 'Thank you'],
  ['👎', 'Thumbs down'], ['🎉', 'Party'], ['🔥', 'Fire'], ['👏', 'Clapping'], ['🤔', 'Thinking'], ['😍', 'In love'],
  ['😊', 'Smiling'], ['😎', 'Cool'], ['🥳', 'Celebrating'], ['😅', 'Relieved'], ['😡', 'Angry'], ['🤯', 'Mind blown'],
  ['✅', 'Done'], ['❌', 'No'], ['👀', 'Looking'], ['💯', 'Hundred'], ['🚀', 'Rocket'], ['☕', 'Coffee'],
]

export class ReactionPicker {
  #app
  #message = null
  /// Called once the picker is closed, to give the focus back.
  #onClose = () => {}
  #grid = h('div', { class: 'reaction-grid', role: 'group', 'aria-label': 'Reactions' })
  element

  constructor(app) {
    this.#app = app
    this.element = h('div', {
      class: 'menu reaction-picker', popover: 'auto', onkeydown: (event) => this.#key(event),
      ontoggle: ({ newState }) => { if (newState === 'closed') this.#onClose() },
    }, this.#grid)
    addEventListener('resize', () => this.close())
  }

  /// Opens the picker for a message above or below its bubble.
  open(message, bubble, onClose) {
    this.#message = message
    this.#onClose = () => {}
    const { own } = message.reactions
    this.#grid.replaceChildren(...emojis.map(([emoji, name]) => h('button', {
      class: 'reaction-choice', type: 'button', tabIndex: -1, 'aria-label': name, title: name, 'data-emoji': emoji,
      'aria-pressed': String(own.includes(emoji)),
      onclick: () => {
        this.close()
        react(this.#app, this.#message, emoji)
      },
    }, emoji)))
    if (!this.element.matches(':popover-open')) this.element.showPopover()
    this.#onClose = onClose
    this.#place(bubble.getBoundingClientRect())
    this.#focus(0)
  }

  close() { if (this.element.matches(':popover-open')) this.element.hidePopover() }

  #place({ left, top, bottom }) {
    const { offsetWidth, offsetHeight, style } = this.element
    const { clientWidth, clientHeight } = document.documentElement
    const below = bottom + 4
    const y = below + offsetHeight + margin <= clientHeight ? below : Math.max(margin, top - offsetHeight - 4)
    style.left = `${Math.max(margin, Math.min(left, clientWidth - offsetWidth - margin))}px`
    style.top = `${Math.min(y, clientHeight - offsetHeight - margin)}px`
  }

  #focus(index) {
    const choices = [...this.#grid.children]
    const at = Math.max(0, Math.min(index, choices.length - 1))
    for (const [each, choice] of choices.entries()) choice.tabIndex = each === at ? 0 : -1
    choices[at].focus({ preventScroll: true })
  }

  #key(event) {
    const at = [...this.#grid.children].indexOf(document.activeElement)
    const to = {
      ArrowRight: at + 1, ArrowLeft: at - 1, ArrowDown: at + columns, ArrowUp: at - columns,
      Home: 0, End: emojis.length - 1,
    }[event.key]
    if (to === undefined && event.key !== 'Escape' && event.key !== 'Tab') return
    event.stopPropagation()
    event.preventDefault()
    if (to === undefined) this.close()
    else if (to >= 0 && to < emojis.length) this.#focus(to)
  }
}
