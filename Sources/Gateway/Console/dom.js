// Building elements without markup: what comes from the server is only ever text.

/// Makes an element. Props that begin with `on` listen, `class` and names with a dash are attributes, and all else is
/// a property. Children are elements, strings, arrays of them, or nothing.
export function h(tag, props = {}, ...children) {
  const element = document.createElement(tag)
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null) continue
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value)
    else if (name === 'class') element.className = value
    else if (name.includes('-') || name === 'role' || name === 'for') element.setAttribute(name, value)
    else element[name] = value
  }
  element.append(...children.flat(3).filter((child) => child !== null && child !== undefined && child !== false))
  return element
}

const shown = new WeakMap()

/// Makes `parent` show just `items`, each built again only when its signature changes.
///
/// `describe` gives of each item `{key, signature, build}`, and `plain` where a row that cannot be built is to be shown
/// otherwise. An element whose item stays is kept, so that focus, selection and what is opened in it stay too.
export function keyed(parent, items, describe) {
  const before = shown.get(parent) ?? new Map()
  const after = new Map()
  const active = document.activeElement
  let refocus = null
  let place = parent.firstChild
  for (const item of items) {
    const { key, signature, build, plain } = describe(item)
    let row = before.get(key)
    if (row && row.signature !== signature) {
      const element = builtSafely(build, plain)
      if (row.element.contains(active)) refocus = { element, name: active.dataset.focus }
      if (place === row.element) place = element
      row.element.replaceWith(element)
      row = { element, signature }
    }
    row ??= { element: builtSafely(build, plain), signature }
    if (row.element === place) place = place.nextSibling
    else parent.insertBefore(row.element, place)
    after.set(key, row)
  }
  for (const [key, row] of before) if (!after.has(key)) row.element.remove()
  shown.set(parent, after)
  if (refocus) {
    const { element, name } = refocus
    const target = (name && element.querySelector(`[data-focus="${name}"]`)) || focusable(element)
    target?.focus({ preventScroll: true })
  }
}

/// One row that cannot be built does not take the others with it.
function builtSafely(build, plain) {
  try {
    return build()
  } catch (error) {
    console.warn('A row cannot be shown:', error)
    return plain ? plain() : h('li', { class: 'empty' }, 'This cannot be shown.')
  }
}

function focusable(element) {
  return element.matches('button, [tabindex]') ? element : element.querySelector('button, [tabindex]')
}

/// Arrow keys, Home and End go through the elements that `selector` finds in `list`, which is one tab stop. `entry`
/// chooses the element at which Tab enters it.
export function arrowKeys(list, selector, entry = (elements) => elements[0]) {
  const rove = (target) => {
    for (const element of list.querySelectorAll(selector)) element.tabIndex = element === target ? 0 : -1
  }
  list.addEventListener('focusin', (event) => {
    const target = event.target.closest(selector)
    if (target) rove(target)
  })
  list.addEventListener('keydown', (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.target.matches('input, textarea')) return
    const elements = [...list.querySelectorAll(selector)]
    const at = elements.indexOf(event.target.closest(selector))
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: elements.length - 1 }[event.key]
    if (to === undefined || at < 0) return
    event.preventDefault()
    elements[Math.max(0, Math.min(to, elements.length - 1))]?.focus()
  })
  /// To be called after rows came and went, so that Tab always finds one.
  return () => {
    const elements = [...list.querySelectorAll(selector)]
    const current = list.contains(document.activeElement) && elements.find((element) => element.tabIndex === 0)
    rove(current || entry(elements))
  }
}

/// A uuid also where the page came over plain HTTP from another machine, which has no `crypto.randomUUID`.
export function uuid() {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  bytes[6] = (bytes[6] & 0x0f) | 0x40
  bytes[8] = (bytes[8] & 0x3f) | 0x80
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}
