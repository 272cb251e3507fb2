// The network pane: the lines that the page and the server exchange.

import { arrowKeys, h, keyed } from './dom.js'
import { icon } from './icons.js'
import { preciseClock } from './time.js'

const arrows = { out: '↑', in: '↓', note: '·' }

export class LinesView {
  #lines
  #filter
  #list = h('ol', { class: 'lines-list', 'aria-label': 'Network' })
  #scroller
  #pause
  #count = h('span', { class: 'lines-count' })
  #empty = h('p', { class: 'lines-empty' })
  #enter
  #isShown = false
  #isScheduled = false
  element

  constructor(app, close) {
    this.#lines = app.lines
    this.#filter = h('input', {
      type: 'search', placeholder: 'Filter: a method, a name, error…', 'aria-label': 'Filter network',
      spellcheck: false, autocomplete: 'off', oninput: () => this.render(),
    })
    this.#pause = h('button', {
      class: 'icon-button', type: 'button', onclick: () => {
        this.#lines.isPaused = !this.#lines.isPaused
        this.render()
      },
    })
    this.#scroller = h('div', { class: 'lines-scroller' }, this.#list, this.#empty)
    this.#enter = arrowKeys(this.#list, 'summary', (elements) => elements.at(-1))
    this.element = h('aside', { class: 'lines', id: 'lines', 'aria-label': 'Network' },
      h('header', { class: 'lines-head' },
        h('h2', {}, 'Network'), this.#count,
        this.#pause,
        h('button', {
          class: 'icon-button', type: 'button', 'aria-label': 'Clear', title: 'Clear',
          onclick: () => this.#lines.clear(),
        }, icon('trash')),
        h('button', {
          class: 'icon-button', type: 'button', 'aria-label': 'Close network', title: 'Close', onclick: close,
        }, icon('close'))),
      h('div', { class: 'search' }, icon('search'), this.#filter),
      this.#scroller)
    this.#lines.onChange = () => this.#schedule()
    this.render()
  }

  focus() { this.#filter.focus() }

  /// Draws the pane only while it is shown.
  shown(isShown) {
    this.#isShown = isShown
    this.render()
  }

  #schedule() {
    if (this.#isScheduled || !this.#isShown) return
    this.#isScheduled = true
    requestAnimationFrame(() => {
      this.#isScheduled = false
      this.render()
    })
  }

  render() {
    if (!this.#isShown) return
    const { entries, isPaused } = this.#lines
    const wanted = this.#filter.value.trim().toLowerCase()
    const shown = entries.filter((entry) => {
      return !wanted || entry.kind.includes(wanted) || entry.method.toLowerCase().includes(wanted)
        || entry.text.toLowerCase().includes(wanted)
    })
    const { scrollTop, scrollHeight, clientHeight } = this.#scroller
    const wasAtEnd = scrollHeight - scrollTop - clientHeight < 40
    keyed(this.#list, shown, (entry) => ({ key: entry.id, signature: '', build: () => row(entry) }))
    this.#count.textContent = wanted ? `${shown.length} of ${entries.length}` : String(entries.length)
    this.#empty.hidden = shown.length > 0
    this.#empty.textContent = wanted ? 'Nothing matches.' : isPaused ? 'Paused.'
      : 'What the page sends and receives appears here.'
    const label = isPaused ? 'Resume' : 'Pause'
    if (this.#pause.title !== label) {
      this.#pause.title = label
      this.#pause.setAttribute('aria-label', label)
      this.#pause.replaceChildren(icon(isPaused ? 'play' : 'pause'))
      this.element.classList.toggle('paused', isPaused)
    }
    this.#enter()
    if (wasAtEnd) this.#scroller.scrollTop = this.#scroller.scrollHeight
  }
}

function row(entry) {
  const time = h('time', {}, preciseClock(entry.at))
  const arrow = h('span', { class: 'arrow' }, arrows[entry.direction])
  if (entry.kind === 'note') {
    return h('li', { class: 'line note' }, h('span', { class: 'line-head' }, time, arrow, entry.method))
  }
  arrow.append(h('span', { class: 'unseen' }, entry.direction))
  const details = h('details', {}, h('summary', { tabIndex: -1 },
    time, arrow,
    h('span', { class: 'line-method' }, entry.method || 'answer',
      entry.code && h('span', { class: 'line-code' }, ` ${entry.code}`)),
    h('span', { class: 'line-figure' }, entry.latency !== undefined ? milliseconds(entry.latency) : bytes(entry.size))))
  // The text is drawn when the line is opened first.
  details.addEventListener('toggle', () => {
    if (!details.open) return
    if (details.childElementCount === 1) details.append(pretty(entry.text))
    details.scrollIntoView({ block: 'nearest' })
  })
  return h('li', { class: `line ${entry.direction} ${entry.kind}` }, details)
}

function milliseconds(time) { return time < 10 ? `${time.toFixed(1)} ms` : `${Math.round(time)} ms` }

function bytes(size) { return size < 1024 ? `${size} B` : `${(size / 1024).toFixed(1)} KB` }

/// JSON with names and values in colours of their own.
function pretty(text) {
  const parts = text.split(/("(?:[^"\\]|\\.)*"(?:\s*:)?|\b(?:true|false|null)\b|-?\b\d[\d.eE+-]*)/)
  return h('pre', { tabIndex: 0 }, parts.map((part, at) => {
    if (at % 2 === 0) return part
    const kind = part.endsWith(':') ? 'name' : part.startsWith('"') ? 'string' : 'value'
    return h('span', { class: `json-${kind}` }, part)
  }))
}
