// Dialogs: the browser's own element keeps the focus inside and returns it afterwards.

import { h } from './dom.js'
import { icon } from './icons.js'

let next = 1

/// Opens a dialog. `build` returns its content and gets `close` and the heading; `onClose` is called once the dialog
/// is gone.
///
/// `mayClose` is asked when the user dismisses the dialog by Esc, by its button or by a press beside it, and may return
/// a promise. Returns `close`, `dismiss`, which asks `mayClose` first, and the element.
export function openDialog({ title, build, onClose, mayClose = () => true, kind = '' }) {
  const id = `dialog-${next++}`
  const heading = h('h2', { id, tabIndex: -1 }, title)
  const element = h('dialog', { class: `dialog ${kind}`, 'aria-labelledby': id })
  const close = () => element.close()
  const dismiss = async () => { if (await mayClose()) close() }
  const content = build(close, heading)
  element.append(
    h('header', { class: 'dialog-head' }, heading,
      h('button', { class: 'icon-button', type: 'button', 'aria-label': 'Close', onclick: dismiss }, icon('close'))),
    h('div', { class: 'dialog-body' }, content))
  element.addEventListener('close', () => {
    element.remove()
    onClose?.()
  })
  // The browser's own handling of Esc closes the dialog at the second press, whatever was asked at the first.
  element.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape' || event.defaultPrevented) return
    event.preventDefault()
    dismiss()
  })
  element.addEventListener('cancel', (event) => {
    if (event.target !== element) return
    event.preventDefault()
    dismiss()
  })
  // Only a press beside the dialog has the dialog itself as its target.
  element.addEventListener('pointerdown', (event) => { if (event.target === element) dismiss() })
  document.body.append(element)
  element.showModal()
  const first = element.querySelector('[autofocus]') ?? heading
  first.focus()
  return { close, dismiss, element }
}

/// Asks before something that cannot be undone. Resolves with the answer.
export function confirm({ title, text, action }) {
  return new Promise((resolve) => {
    let answer = false
    openDialog({
      title,
      kind: 'small',
      onClose: () => resolve(answer),
      build: (close) => [
        h('p', {}, text),
        h('div', { class: 'form-actions' },
          h('button', { class: 'button', type: 'button', onclick: close }, 'Cancel'),
          h('button', {
            class: 'button danger', type: 'button', autofocus: true,
            onclick: () => {
              answer = true
              close()
            },
          }, action)),
      ],
    })
  })
}
