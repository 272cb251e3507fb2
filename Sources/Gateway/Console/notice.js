// Short messages to the user: toasts, which disappear after some seconds, and announcements to screen readers.

import { h } from './dom.js'

const toastMilliseconds = 6000
const mostToasts = 3

/// Announces the text to screen readers.
export function announce(text) {
  const log = document.getElementById('announcer')
  log.append(h('p', {}, text))
  if (log.childElementCount > 20) log.firstElementChild.remove()
}

/// Shows the text for some seconds, at the top of the page, where it does not cover what the user is writing.
export function toast(text, kind = '') {
  const toasts = document.getElementById('toasts')
  const element = h('p', { class: `toast ${kind}` }, text)
  if (toasts.childElementCount >= mostToasts) toasts.firstElementChild.remove()
  toasts.append(element)
  // A dialog is in the browser's top layer. The popover that is shown last is above it.
  toasts.popover = 'manual'
  toasts.hidePopover()
  toasts.showPopover()
  announce(text)
  setTimeout(() => element.remove(), toastMilliseconds)
}
