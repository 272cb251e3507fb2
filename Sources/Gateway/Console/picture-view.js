// A picture in the conversation, and large.

import { openDialog } from './dialog.js'
import { h } from './dom.js'
import { icon } from './icons.js'

/// The size in the conversation.
const box = { width: 360, height: 320, least: 96 }

/// The picture of a message that the server keeps; `alt` says what it is.
export function messagePicture({ pictures }, message, alt) {
  const { attachment } = message
  const frame = fitted(h('button', {
    class: 'picture', type: 'button', 'aria-haspopup': 'dialog', tabIndex: -1,
    onclick: () => { if (frame.dataset.state !== 'gone') openLarge(pictures, message, alt) },
  },
  h('img', { alt, decoding: 'async', draggable: false }),
  h('span', { class: 'picture-wait' }, icon('picture')),
  h('span', { class: 'picture-gone' }, 'This picture is gone.')), attachment)
  pictures.watch(frame, message)
  return frame
}

/// The picture of a message that is not sent yet, with how far its upload has come. `cancel` ends the upload.
export function sendingPicture(message, cancel) {
  const name = message.filename ?? 'the picture'
  return h('div', { class: 'sending' },
    fitted(h('div', { class: 'picture', 'data-state': 'shown' },
      h('img', { src: message.preview, alt: `Your picture, ${name}` })), message.attachment),
    uploadLine('sending-line', message, name, cancel))
}

/// The progress of an upload, and a button that cancels it. False for a refused message.
export function uploadLine(className, message, name, cancel) {
  return !message.error && h('div', { class: className },
    h('progress', { max: 1, value: message.progress ?? 0, 'aria-label': `Uploading ${name}` }),
    h('button', {
      class: 'icon-button', type: 'button', tabIndex: -1, 'aria-label': 'Cancel the upload',
      title: 'Cancel the upload',
      onclick: () => {
        cancel()
        document.getElementById('compose')?.focus()
      },
    }, icon('close')))
}

/// Gives the frame the size that the picture will have, so that nothing moves when it comes.
export function fitted(frame, { width, height }) {
  const isKnown = width > 0 && height > 0
  const ratio = isKnown ? Math.min(4, Math.max(0.25, width / height)) : 4 / 3
  const wide = Math.min(box.width, box.height * ratio, isKnown ? Math.max(width, box.least) : 240)
  frame.style.width = `${Math.round(wide)}px`
  frame.style.aspectRatio = String(ratio)
  return frame
}

function openLarge(pictures, message, alt) {
  const { width, height } = message.attachment
  const frame = h('div', { class: 'large' },
    h('img', { alt, width: width || undefined, height: height || undefined }),
    h('span', { class: 'picture-wait' }, icon('picture')),
    h('span', { class: 'picture-gone' }, 'This picture is gone.'))
  openDialog({
    title: alt,
    kind: 'large-picture',
    build: () => [frame, message.content && h('p', { dir: 'auto' }, message.content)],
  })
  pictures.watch(frame, message)
}
