// The menu of a row, such as a message: opened by a right click, by a long press, or by a key on the focused row.

import { arrowKeys, h } from './dom.js'
import { icon } from './icons.js'

const longPressMilliseconds = 500
/// The movement of a finger, in pixels, from which a press counts as scrolling.
const pressTolerance = 10
const margin = 8

export class RowMenu {
  #list
  #anchor
  #describe
  #title
  #items
  #enter
  /// The key of the row that the menu is open for.
  #key = null
  #whileOpen
  /// True if the last press was on selected text.
  #pressedSelection = false
  element

  /// A menu for the rows that `rows` selects in `list`, which have a `data-key`. It opens below what `anchor` selects
  /// in a row. `name` is its class. `describe` returns of a row's element `{ title, actions }`.
  constructor(list, { rows, anchor, name, describe }) {
    this.#list = list
    this.#anchor = anchor
    this.#describe = describe
    this.#title = h('p', { class: 'menu-title', id: `${name}-title` })
    this.#items = h('div', { role: 'menu', 'aria-labelledby': `${name}-title` })
    this.#enter = arrowKeys(this.#items, '[role=menuitem]')
    // Not `auto`: that would close at the release of the button that opened it.
    this.element = h('div', {
      class: `menu row-menu ${name}`, popover: 'manual', onkeydown: (event) => this.#pressed(event),
    }, this.#title, this.#items)
    list.addEventListener('pointerdown', ({ target }) => {
      const selection = getSelection()
      this.#pressedSelection = !selection.isCollapsed && selection.containsNode(target, true)
    })
    list.addEventListener('contextmenu', (event) => {
      const row = event.target.closest(rows)
      // The context menu key has no pointer.
      const isByPointer = event.button === 2 || Boolean(event.pointerType)
      // A link has a menu of the browser's own, and so has selected text.
      if (!row || event.target.closest('a') || (isByPointer && this.#pressedSelection)) return
      if (this.open(row, isByPointer ? event : null)) event.preventDefault()
    })
    onLongPress(list, (event) => {
      const row = event.target.closest(rows)
      return Boolean(row) && this.open(row, event)
    })
  }

  /// Opens the menu at a point, or below the row. Returns whether there is anything to choose.
  open(row, point = null) {
    const { title, actions } = this.#describe(row)
    if (!actions.length) return false
    this.close()
    this.#key = row.dataset.key
    row.classList.add('menu-open')
    this.#title.textContent = title
    this.#items.replaceChildren(...actions.map(({ name, label, run }) => h('button', {
      class: 'menu-item', type: 'button', role: 'menuitem', tabIndex: -1, 'data-action': name,
      onclick: () => {
        this.close()
        run()
      },
    }, icon(name), label)))
    this.#enter()
    this.element.showPopover()
    this.#place(point ?? below(this.#anchor ? row.querySelector(this.#anchor) : row))
    this.#items.firstElementChild.focus({ preventScroll: true })
    this.#whileOpen = new AbortController()
    const { signal } = this.#whileOpen
    const closeOutside = (event) => { if (!this.element.contains(event.target)) this.close() }
    for (const kind of ['pointerdown', 'wheel']) {
      document.addEventListener(kind, closeOutside, { capture: true, passive: true, signal })
    }
    addEventListener('resize', () => this.close(), { signal })
    addEventListener('blur', () => this.close(), { signal })
    return true
  }

  /// Closes the menu and gives the focus back to its row.
  close() {
    if (!this.#key) return
    const hadFocus = this.element.contains(document.activeElement)
    this.#whileOpen.abort()
    this.element.hidePopover()
    this.#list.querySelector('.menu-open')?.classList.remove('menu-open')
    // The row may have been drawn anew meanwhile.
    if (hadFocus) this.#list.querySelector(`[data-key="${this.#key}"]`)?.focus({ preventScroll: true })
    this.#key = null
  }

  #pressed(event) {
    if (event.key !== 'Escape' && event.key !== 'Tab') return
    event.stopPropagation()
    if (event.key === 'Escape') event.preventDefault()
    this.close()
  }

  #place({ clientX, clientY }) {
    const { offsetWidth, offsetHeight, style } = this.element
    const { clientWidth, clientHeight } = document.documentElement
    style.left = `${Math.max(margin, Math.min(clientX, clientWidth - offsetWidth - margin))}px`
    style.top = `${Math.max(margin, Math.min(clientY, clientHeight - offsetHeight - margin))}px`
  }
}

function below(element) {
  const { left, bottom } = element.getBoundingClientRect()
  return { clientX: left, clientY: bottom + 4 }
}

/// Calls `act` with the event of a finger that rests on the element. Safari on iOS has no `contextmenu` event. Where
/// `act` returns true, the click that may follow is suppressed.
function onLongPress(element, act) {
  let timer
  let start
  const stop = () => clearTimeout(timer)
  element.addEventListener('pointerdown', (event) => {
    stop()
    if (event.pointerType !== 'touch' || !event.isPrimary) return
    start = event
    timer = setTimeout(() => { if (act(start)) suppressClick() }, longPressMilliseconds)
  })
  element.addEventListener('pointermove', (event) => {
    if (start && Math.hypot(event.clientX - start.clientX, event.clientY - start.clientY) > pressTolerance) stop()
  })
  for (const kind of ['pointerup', 'pointercancel', 'contextmenu']) element.addEventListener(kind, stop)
}

/// Suppresses clicks until the next press begins.
function suppressClick() {
  const untilNextPress = new AbortController()
  const { signal } = untilNextPress
  document.addEventListener('click', (event) => {
    event.preventDefault()
    event.stopPropagation()
  }, { capture: true, signal })
  document.addEventListener('pointerdown', () => untilNextPress.abort(), { capture: true, once: true })
}
