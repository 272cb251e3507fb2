// Dialogs: the browser's own element keeps the focus in, gives it back, and closes by Esc.

import { h } from './dom.js'
import { icon } from './icons.js'

let next = 1

/// Opens a dialog. `build` gives its content, and gets `close`; `onClose` is called once it is gone.
export function openDialog({ title, build, onClose, kind = '' }) {
  const id = `dialog-${next++}`
  const heading = h('h2', { id, tabIndex: -1 }, title)
  const element = h('dialog', { class: `dialog ${kind}`, 'aria-labelledby': id })
  const close = () => element.close()
  const content = build(close, heading)
  element.append(
    h('header', { class: 'dialog-head' }, heading,
      h('button', { class: 'icon-button', type: 'button', 'aria-label': 'Close', onclick: close }, icon('close'))),
    h('div', { class: 'dialog-body' }, content))
  element.addEventListener('close', () => {
    element.remove()
    onClose?.()
  })
  // A press beside it; the dialog's own padding is none of it.
  element.addEventListener('pointerdown', (event) => { if (event.target === element) close() })
  document.body.append(element)
  element.showModal()
  const first = element.querySelector('[autofocus]') ?? heading
  first.focus()
  return { close, element }
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
