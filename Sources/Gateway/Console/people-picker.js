// Choosing people for a group: a search, and those chosen as removable names.

import { chipSignature, personChip, presentChip, presentSignature } from './avatar.js'
import { arrowKeys, h, keyed } from './dom.js'
import { icon } from './icons.js'
import { Search } from './search.js'

export class PeoplePicker {
  #app
  #excluded
  #search
  #input
  #chosen = h('ul', { class: 'chosen', 'aria-label': 'Chosen' })
  #found = h('ul', { class: 'rows', 'aria-label': 'People' })
  #note = h('p', { class: 'field-hint', role: 'status' })
  #enter
  /// The ids of those chosen, in order.
  ids = []
  element

  /// `excluded` are those who cannot be chosen, because they are in already.
  constructor(app, excluded = []) {
    this.#app = app
    this.#excluded = new Set([...excluded, app.directory.userID])
    this.#search = new Search(app, () => this.#render())
    this.#input = h('input', {
      type: 'search', placeholder: 'Name or username', 'aria-label': 'Find people',
      autocomplete: 'off', spellcheck: false,
      oninput: () => {
        this.#search.find(this.#input.value)
        this.#render()
      },
      onkeydown: (event) => {
        const row = this.#found.querySelector('.row')
        if (event.key === 'Enter' || event.key === 'ArrowDown') event.preventDefault()
        if (event.key === 'Enter' && this.#input.value) row?.click()
        if (event.key === 'ArrowDown') row?.focus()
      },
    })
    this.#enter = arrowKeys(this.#found, '.row')
    this.element = h('div', { class: 'picker' },
      h('div', { class: 'search' }, icon('search'), this.#input), this.#chosen, this.#found, this.#note)
    this.#render()
  }

  focus() { this.#input.focus() }

  /// Draws what changes of those who are offered. Returns what ends that.
  watch() { return this.#app.directory.watch(() => this.#render()) }

  #render() {
    const { directory } = this.#app
    const query = this.#input.value.trim()
    const found = query.length >= 2 ? this.#search.results : directory.contacts
      .filter((person) => !person.is_deleted && !person.is_guest
        && directory.name(person.id).toLowerCase().includes(query.toLowerCase()))
      .map((person) => person.id)
    const offered = found.filter((id) => !this.#excluded.has(id) && !this.ids.includes(id)).slice(0, 30)
    keyed(this.#chosen, this.ids, (id) => ({
      key: id,
      signature: chipSignature(directory, id),
      build: () => h('li', {}, h('button', {
        class: 'chosen-person', type: 'button', 'aria-label': `Remove ${directory.name(id)}`,
        onclick: () => {
          this.ids = this.ids.filter((each) => each !== id)
          this.#render()
          this.focus()
        },
      }, personChip(directory, id, 'tiny'), directory.name(id), icon('close'))),
    }))
    keyed(this.#found, offered, (id, username = directory.person(id)?.username) => ({
      key: id,
      signature: presentSignature(directory, id),
      build: () => h('li', {}, h('button', {
        class: 'row', type: 'button', tabIndex: -1,
        onclick: () => {
          this.ids.push(id)
          this.#input.value = ''
          this.#search.find('')
          this.#render()
          this.focus()
        },
      }, presentChip(directory, id, 'small'), h('span', { class: 'row-text' },
        h('span', { class: 'row-title' }, directory.name(id)),
        h('span', { class: 'row-preview' }, username ? `@${username}` : '')))),
    }))
    this.#note.textContent = this.#search.problem
      ?? (this.#search.isSearching ? 'Searching…' : query.length >= 2 && !offered.length ? 'Nobody else found.' : '')
    this.#enter()
  }
}
