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
/// `describe` returns `{key, signature, build}` for an item, and `plain`, which builds the row if `build` throws. The
/// element of an item that stays is kept with its focus and selection, also when it moves.
export function keyed(parent, items, describe) {
  const before = shown.get(parent) ?? new Map()
  const after = new Map()
  const active = document.activeElement
  const described = items.map((item) => describe(item))
  const keys = new Set(described.map(({ key }) => key))
  // First, so that the rows that follow them need not move.
  for (const [key, row] of before) if (!keys.has(key)) row.element.remove()
  let refocus = null
  let place = parent.firstChild
  for (const { key, signature, build, plain } of described) {
    let row = before.get(key)
    if (row && row.signature !== signature) {
      const element = builtSafely(build, plain)
      if (row.element.contains(active)) refocus = successor(active, element)
      if (place === row.element) place = element
      row.element.replaceWith(element)
      row = { element, signature }
    }
    row ??= { element: builtSafely(build, plain), signature }
    if (row.element === place) {
      place = place.nextSibling
    } else {
      // An element that moves loses the focus.
      if (row.element.contains(active)) refocus = active
      parent.insertBefore(row.element, place)
    }
    after.set(key, row)
  }
  shown.set(parent, after)
  refocus?.focus({ preventScroll: true })
}

/// Returns the element in `row`, which was built anew, that takes the focus of `active`.
function successor(active, row) {
  const { focus } = active.dataset
  return (focus && row.querySelector(`[data-focus="${focus}"]`)) || focusable(row)
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
