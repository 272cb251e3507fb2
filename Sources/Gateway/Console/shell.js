// The page of a user who is signed in: the list of conversations, the open one, and the network pane.

import { openSettings } from './account-view.js'
import { chipSignature, personChip } from './avatar.js'
import { h, keyed } from './dom.js'
import { help } from './help-view.js'
import { icon } from './icons.js'
import { LinesView } from './lines-view.js'
import { ListView } from './list-view.js'
import { countWaiting, mostCounted, openModeration } from './moderation-view.js'
import { editProfile } from './profile-view.js'
import { StatusView } from './status-view.js'
import { ThreadView } from './thread-view.js'

const networkKey = 'postline.network'
/// How often a moderator's page asks what waits, at most.
const countMilliseconds = 5 * 60_000
const wide = matchMedia('(min-width: 1180px)')

export class Shell {
  #app
  #list
  #thread
  #network
  #status
  #meButton = h('button', { class: 'me-button', type: 'button', onclick: () => editProfile(this.#app) })
  #me = h('div', { class: 'me' }, this.#meButton)
  /// For moderators, with the number of reports and held messages that wait.
  #waiting = h('span', { class: 'badge', hidden: true })
  #countedAt = 0
  #reportsButton = h('button', {
    class: 'icon-button reports-button', type: 'button', 'aria-label': 'Reports', title: 'Reports', hidden: true,
    onclick: () => openModeration(this.#app, () => this.#countWaiting()),
  }, icon('flag'), this.#waiting)
  #networkButton
  #isNetworkShown = false
  /// On a narrow page the pane covers the others, and is only open after the user has opened it.
  #isOverlayOpen = false
  element

  constructor(app) {
    this.#app = app
    this.#list = new ListView(app)
    this.#status = new StatusView(app)
    this.#thread = new ThreadView(app)
    this.#network = new LinesView(app, () => this.#toggleNetwork(false))
    this.#networkButton = h('button', {
      class: 'icon-button', type: 'button', 'aria-label': 'Network', title: 'Network (Ctrl+.)',
      'aria-controls': 'lines', 'aria-expanded': 'false', onclick: () => this.#toggleNetwork(),
    }, icon('lines'))
    this.element = h('div', { class: 'shell' },
      h('a', { class: 'skip', href: '#', onclick: (event) => this.#skip(event, () => this.#list.focusRows()) },
        'Skip to conversations'),
      h('a', { class: 'skip', href: '#', onclick: (event) => this.#skip(event, () => this.#thread.focus()) },
        'Skip to writing'),
      this.#status.element,
      h('nav', { class: 'side', 'aria-label': 'Conversations' },
        h('header', { class: 'side-head' }, this.#me,
          h('div', { class: 'side-tools' }, this.#reportsButton, this.#networkButton,
            h('button', {
              class: 'icon-button', type: 'button', 'aria-label': 'Help and keys', title: 'Help and keys',
              onclick: () => help(app),
            }, icon('keyboard')),
            h('button', {
              class: 'icon-button', type: 'button', 'aria-label': 'Settings', title: 'Settings',
              onclick: () => openSettings(app),
            }, icon('settings')))),
        this.#list.element),
      this.#thread.element,
      h('div', { class: 'scrim', onclick: () => this.#toggleNetwork(false) }),
      this.#network.element)
    this.element.addEventListener('keydown', (event) => this.#key(event))
    wide.addEventListener('change', () => {
      this.#isOverlayOpen = false
      this.#renderNetwork()
    })
  }

  #skip(event, focus) {
    event.preventDefault()
    focus()
  }

  /// True if the network pane is shown: as the user last chose in this tab, otherwise only with demo accounts, whose
  /// users want to see how it works.
  get #wantsNetwork() {
    if (!wide.matches) return this.#isOverlayOpen
    const kept = sessionStorage.getItem(networkKey)
    return kept ? kept === 'open' : this.#app.start.people.length > 0
  }

  #toggleNetwork(shows = !this.#isNetworkShown) {
    this.#isOverlayOpen = shows
    sessionStorage.setItem(networkKey, shows ? 'open' : 'closed')
    this.#renderNetwork()
    if (shows) this.#network.focus()
    else this.#networkButton.focus()
  }

  #renderNetwork() {
    const shows = this.#wantsNetwork
    if (shows === this.#isNetworkShown) return
    this.#isNetworkShown = shows
    this.element.classList.toggle('with-lines', shows)
    this.#networkButton.setAttribute('aria-expanded', String(shows))
    this.#network.shown(shows)
  }

  async #countWaiting() {
    this.#countedAt = Date.now()
    try {
      const count = await countWaiting(this.#app)
      this.#waiting.hidden = !count
      this.#waiting.textContent = count < mostCounted ? count : `${mostCounted - 1}+`
      this.#reportsButton.title = count ? `Reports: ${this.#waiting.textContent} waiting` : 'Reports'
    } catch {
      // The number stays as it was.
    }
  }

  #key(event) {
    const isCommand = event.ctrlKey || event.metaKey
    if (isCommand && event.key === 'k') {
      event.preventDefault()
      if (this.#app.openID && !this.#list.element.offsetParent) this.#app.open(null)
      requestAnimationFrame(() => this.#list.focusSearch())
    } else if (isCommand && event.key === '.') {
      event.preventDefault()
      this.#toggleNetwork()
    } else if (event.key === 'Escape' && this.#isNetworkShown && !wide.matches) {
      this.#toggleNetwork(false)
    } else if (event.key === 'Escape' && !event.defaultPrevented && this.#thread.element.contains(event.target)) {
      if (this.#list.element.offsetParent) this.#list.focusRows()
      else this.#app.open(null)
    }
  }

  render() {
    const { client: { me, state }, directory, openID } = this.#app
    this.element.classList.toggle('in-thread', Boolean(openID))
    this.#reportsButton.hidden = !me?.is_moderator
    if (me?.is_moderator && state.name === 'live' && Date.now() - this.#countedAt > countMilliseconds) {
      this.#countWaiting()
    }
    keyed(this.#meButton, me ? [me] : [], (me) => ({
      key: me.id,
      signature: `${chipSignature(directory, me.id)}${me.username}${me.email}${me.is_guest}`,
      build: () => h('span', { class: 'me-inside' }, personChip(directory, me.id),
        h('span', { class: 'row-text' },
          h('span', { class: 'row-title' }, directory.name(me.id)),
          h('span', { class: 'row-preview' }, me.is_guest ? 'Guest' : me.username ? `@${me.username}` : me.email)),
        h('span', { class: 'unseen' }, ', edit your profile')),
    }))
    this.#renderNetwork()
    this.#status.render()
    this.#list.render()
    this.#thread.render()
  }
}
