// The dialog that shows pictures, with a field for a caption, before they are sent.

import { messagePicture } from './client/index.js'
import { openDialog } from './dialog.js'
import { h } from './dom.js'
import { icon } from './icons.js'
import { toast } from './notice.js'
import { prepare, refusal } from './picture-file.js'

const mostCharacters = 8000

/// Opens the dialog. `onSend` is called with the pictures, each `{picture, content}`, the last with the caption.
/// Files that cannot be sent are left out, and a toast says why.
export function previewPictures({ files, title, caption, onSend }) {
  const items = files.filter((file) => {
    const problem = refusal(file)
    if (problem) toast(problem, 'bad')
    return !problem
  }).map((file) => ({ file, picture: null, element: null, address: null }))
  if (items.length) open(items, { title, caption, onSend })
}

function open(items, { title, caption, onSend }) {
  const list = h('ul', { class: 'preview-list', 'aria-label': 'Pictures' })
  const field = h('textarea', {
    class: 'preview-caption', rows: 1, value: caption, maxLength: mostCharacters, placeholder: 'Add a caption',
    'aria-label': 'Caption', dir: 'auto', autofocus: true,
    onkeydown: (event) => {
      const sends = event.key === 'Enter' && !event.shiftKey && !event.isComposing
        && !matchMedia('(pointer: coarse)').matches
      if (!sends) return
      event.preventDefault()
      send()
    },
  })
  const button = h('button', { class: 'button primary', type: 'button', onclick: () => send() }, 'Send')
  const { close, heading } = dialog(items, { title, list, field, button })
  const update = () => {
    heading.textContent = items.length > 1 ? `Send ${items.length} pictures to ${title}` : `Send a picture to ${title}`
    list.classList.toggle('single', items.length === 1)
    if (items.length === 0) close()
  }
  const remove = (item) => {
    items.splice(items.indexOf(item), 1)
    item.element.remove()
    if (item.address) URL.revokeObjectURL(item.address)
    update()
  }
  for (const item of items) list.append(draw(item, remove))
  update()
  const prepared = prepareAll(items, remove)

  async function send() {
    if (button.hasAttribute('aria-busy')) return
    button.setAttribute('aria-busy', 'true')
    await prepared
    if (!items.length || !list.isConnected) return
    const content = field.value.trim() ? field.value : ''
    const pictures = items.map(({ picture }, at) => ({ picture, content: at === items.length - 1 ? content : '' }))
    close()
    onSend(pictures)
  }
}

function dialog(items, { title, list, field, button }) {
  let heading
  const { close } = openDialog({
    title,
    kind: 'preview',
    onClose: () => { for (const { address } of items) if (address) URL.revokeObjectURL(address) },
    build: (close, given) => {
      heading = given
      return [list, field, h('div', { class: 'form-actions' },
        h('button', { class: 'button', type: 'button', onclick: close }, 'Cancel'), button)]
    },
  })
  return { close, heading }
}

function draw(item, remove) {
  item.element = h('li', { class: 'preview-item' },
    h('img', { alt: item.file.name || 'The picture' }),
    h('button', {
      class: 'icon-button', type: 'button', 'aria-label': `Remove ${item.file.name || 'the picture'}`, title: 'Remove',
      onclick: () => remove(item),
    }, icon('close')))
  return item.element
}

/// Reads the pictures one after another, since each takes a lot of memory while it is drawn.
async function prepareAll(items, remove) {
  for (const item of [...items]) {
    try {
      const picture = await prepare(item.file, messagePicture)
      if (!item.element.isConnected) continue
      item.picture = picture
      item.address = URL.createObjectURL(picture.blob)
      item.element.querySelector('img').src = item.address
    } catch (error) {
      toast(error.message, 'bad')
      if (item.element.isConnected) remove(item)
    }
  }
}
