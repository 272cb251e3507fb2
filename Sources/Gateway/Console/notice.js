// Short words to the user: seen for a while, and read out by a screen reader.

import { h } from './dom.js'

/// Says it to those who listen rather than look.
export function announce(text) {
  const log = document.getElementById('announcer')
  log.append(h('p', {}, text))
  if (log.childElementCount > 20) log.firstElementChild.remove()
}

/// Shows it for some seconds.
export function toast(text, kind = '') {
  const element = h('p', { class: `toast ${kind}` }, text)
  document.getElementById('toasts').append(element)
  announce(text)
  setTimeout(() => element.remove(), 6000)
}
