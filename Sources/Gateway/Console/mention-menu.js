// The completion of mentions: whom the user may mean by the text after `@`, above the field.

import { personChip } from './avatar.js'
import { h } from './dom.js'
import { everyone, mentionable } from './mentions.js'

const mostShown = 6

export class MentionMenu {
  #app
  #input
  #onChoice
  #people = []
  #chosen = 0
  /// Where the `@` of the word that is completed is, or null.
  #start = null
  element = h('ul', {
    class: 'mention-menu', id: 'mention-menu', role: 'listbox', 'aria-label': 'People to mention', hidden: true,
  })

  /// A menu for the text field `input`. `onChoice` is called after it has changed the text.
  constructor(app, input, onChoice) {
    this.#app = app
    this.#input = input
    this.#onChoice = onChoice
    input.setAttribute('aria-autocomplete', 'list')
    input.setAttribute('aria-controls', this.element.id)
    input.addEventListener('blur', () => this.close())
  }

  get isOpen() { return !this.element.hidden }

  /// Shows whom the text before the cursor may mean.
  update(conversation) {
    const { value, selectionStart, selectionEnd } = this.#input
    const before = value.slice(0, selectionStart)
    const word = selectionStart === selectionEnd && /(?<![\p{L}\p{N}_.])@([\p{L}\p{N}_. -]{0,40})$/u.exec(before)
    if (!word || !conversation) return this.close()
    const query = word[1].toLowerCase()
    this.#people = mentionable(this.#app.directory, conversation).filter(({ names }) => {
      return names.some((name) => name.toLowerCase().startsWith(query))
    }).slice(0, mostShown)
    // What is written already needs no completion.
    if (!this.#people.length || this.#people[0].names.some((name) => name.toLowerCase() === query)) return this.close()
    this.#start = word.index
    this.#chosen = 0
    this.#draw()
  }

  close() {
    if (!this.isOpen) return
    this.element.hidden = true
    this.#input.removeAttribute('aria-activedescendant')
  }

  /// Takes a key of the field. Returns true if it was for the menu.
  key(event) {
    if (!this.isOpen) return false
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    const chooses = (event.key === 'Enter' || event.key === 'Tab') && !event.shiftKey && !event.isComposing
    if (!step && !chooses && event.key !== 'Escape') return false
    event.preventDefault()
    if (step) {
      this.#chosen = (this.#chosen + step + this.#people.length) % this.#people.length
      this.#draw()
    } else if (chooses) this.#choose(this.#people[this.#chosen])
    else this.close()
    return true
  }

  #draw() {
    const { directory } = this.#app
    this.element.replaceChildren(...this.#people.map((person, index) => {
      const { id, names: [written] } = person
      return h('li', {
        class: 'mention-option', id: `mention-${index}`, role: 'option',
        'aria-selected': String(index === this.#chosen),
        // A press would take the focus from the field.
        onpointerdown: (event) => {
          event.preventDefault()
          this.#choose(person)
        },
      },
      id === everyone ? h('span', { class: 'chip chip-small', 'aria-hidden': 'true' }, '@')
        : personChip(directory, id, 'small'),
      h('span', { class: 'row-title' }, id === everyone ? 'Everyone' : directory.name(id)),
      h('span', { class: 'row-preview' }, id === everyone ? 'All members of the group' : `@${written}`))
    }))
    this.element.hidden = false
    this.#input.setAttribute('aria-activedescendant', `mention-${this.#chosen}`)
  }

  #choose({ names: [written] }) {
    const end = this.#input.selectionStart
    this.#input.setRangeText(`@${written} `, this.#start, end, 'end')
    this.close()
    this.#onChoice()
  }
}
