// The page of somebody who is signed in: the conversations, the open one, and the pane of lines.

import { chipSignature, personChip } from './avatar.js'
import { h, keyed } from './dom.js'
import { help } from './help-view.js'
import { icon } from './icons.js'
import { LinesView } from './lines-view.js'
import { ListView } from './list-view.js'
import { editProfile } from './profile-view.js'
import { StatusView } from './status-view.js'
import * as theme from './theme.js'
import { ThreadView } from './thread-view.js'

const linesKey = 'postline.lines'
const wide = matchMedia('(min-width: 1180px)')

export class Shell {
  #app
  #list
  #thread
  #lines
  #status
  #meButton = h('button', { class: 'me-button', type: 'button', onclick: () => editProfile(this.#app) })
  #me = h('div', { class: 'me' }, this.#meButton)
  #themeButton
  #linesButton
  #showsLines
  element

  constructor(app) {
    this.#app = app
    this.#list = new ListView(app)
    this.#status = new StatusView(app)
    this.#thread = new ThreadView(app)
    this.#lines = new LinesView(app, () => this.toggleLines(false))
    this.#themeButton = h('button', {
      class: 'icon-button', type: 'button', 'aria-label': 'Light or dark', title: 'Light or dark',
      onclick: () => {
        theme.toggle()
        this.#renderTheme()
      },
    })
    this.#linesButton = h('button', {
      class: 'icon-button', type: 'button', 'aria-label': 'Lines', title: 'The lines that go in and out (Ctrl+.)',
      'aria-controls': 'lines', onclick: () => this.toggleLines(),
    }, icon('lines'))
    this.element = h('div', { class: 'shell' },
      h('a', { class: 'skip', href: '#', onclick: (event) => this.#skip(event, () => this.#list.focusRows()) },
        'Skip to conversations'),
      h('a', { class: 'skip', href: '#', onclick: (event) => this.#skip(event, () => this.#thread.focus()) },
        'Skip to writing'),
      this.#status.element,
      h('nav', { class: 'side', 'aria-label': 'Conversations' },
        h('header', { class: 'side-head' }, this.#me,
          h('div', { class: 'side-tools' }, this.#linesButton, this.#themeButton, h('button', {
            class: 'icon-button', type: 'button', 'aria-label': 'Help and keys', title: 'Help and keys',
            onclick: () => help(app),
          }, icon('keyboard')))),
        this.#list.element),
      this.#thread.element,
      h('div', { class: 'scrim', onclick: () => this.toggleLines(false) }),
      this.#lines.element)
    this.element.addEventListener('keydown', (event) => this.#key(event))
    this.#renderTheme()
    const kept = sessionStorage.getItem(linesKey)
    // Who comes to the dev world comes to see how it works.
    this.#setLines(wide.matches && (kept ? kept === 'open' : app.people.length > 0))
    // Over the other panes it is only there while it is asked for.
    wide.addEventListener('change', () => { if (!wide.matches) this.#setLines(false) })
  }

  #skip(event, focus) {
    event.preventDefault()
    focus()
  }

  #renderTheme() { this.#themeButton.replaceChildren(icon(theme.isDark() ? 'sun' : 'moon')) }

  toggleLines(shows = !this.#showsLines) {
    this.#setLines(shows)
    sessionStorage.setItem(linesKey, shows ? 'open' : 'closed')
    if (shows) this.#lines.focus()
    else this.#linesButton.focus()
  }

  #setLines(shows) {
    this.#showsLines = shows
    this.element.classList.toggle('with-lines', shows)
    this.#linesButton.setAttribute('aria-expanded', String(shows))
    this.#lines.shown(shows)
  }

  /// Another conversation was opened, or none.
  opened() { this.#thread.opened() }

  #key(event) {
    const isCommand = event.ctrlKey || event.metaKey
    if (isCommand && event.key === 'k') {
      event.preventDefault()
      if (this.#app.openID && !this.#list.element.offsetParent) this.#app.open(null)
      requestAnimationFrame(() => this.#list.focusSearch())
    } else if (isCommand && event.key === '.') {
      event.preventDefault()
      this.toggleLines()
    } else if (event.key === 'Escape' && this.#showsLines && !wide.matches) {
      this.toggleLines(false)
    } else if (event.key === 'Escape' && !event.defaultPrevented && this.#thread.element.contains(event.target)) {
      if (this.#list.element.offsetParent) this.#list.focusRows()
      else this.#app.open(null)
    }
  }

  render() {
    const { store, openID } = this.#app
    this.element.classList.toggle('in-thread', Boolean(openID))
    keyed(this.#meButton, store.me ? [store.me] : [], (me) => ({
      key: me.id,
      signature: `${chipSignature(store, me.id)}${me.username}${me.is_guest}`,
      build: () => h('span', { class: 'me-inside' }, personChip(store, me.id),
        h('span', { class: 'row-text' },
          h('span', { class: 'row-title' }, store.name(me.id)),
          h('span', { class: 'row-preview' }, me.is_guest ? 'Guest' : me.username ? `@${me.username}` : me.email)),
        h('span', { class: 'unseen' }, ', edit your profile')),
    }))
    this.#status.render()
    this.#list.render()
    this.#thread.render()
  }
}
