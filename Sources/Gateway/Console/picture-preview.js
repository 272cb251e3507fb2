// The dialog that shows pictures and other files, with a field for a caption, before they are sent.

import { size } from './attachments.js'
import { messageFile, messagePicture } from './client/index.js'
import { openDialog } from './dialog.js'
import { h } from './dom.js'
import { icon } from './icons.js'
import { toast } from './notice.js'
import { isPictureFile, prepare, refusal } from './picture-file.js'

const mostCharacters = 8000
const mostFiles = 10

/// Opens the dialog. `onSend` is called with the pictures, each `{picture, content}`, the last with the caption.
/// Files that cannot be sent are left out, and a toast says why. `takesAll` is true if they need not be pictures.
export function previewFiles({ files, title, caption, takesAll, onSend }) {
  const items = files.filter((file, index) => {
    const problem = index < mostFiles ? refusal(file, takesAll) : index > mostFiles ? null
      : `A message has at most ${mostFiles} files.`
    if (problem) toast(problem, 'bad')
    return !problem && index < mostFiles
  }).map((file) => ({ file, picture: null, element: null, address: null }))
  if (items.length) open(items, { title, caption, onSend })
}

function open(items, { title, caption, onSend }) {
  const list = h('ul', { class: 'preview-list', 'aria-label': 'Files' })
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
    const [one, many] = items.every(({ file }) => isPictureFile(file)) ? ['a picture', 'pictures'] : ['a file', 'files']
    heading.textContent = `Send ${items.length > 1 ? `${items.length} ${many}` : one} to ${title}`
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
  const { file } = item
  item.element = h('li', { class: isPictureFile(file) ? 'preview-item' : 'preview-item preview-file' },
    isPictureFile(file) ? h('img', { alt: file.name || 'The picture' })
      : h('span', { class: 'card' }, h('span', { class: 'card-icon' }, icon('paperclip')),
        h('span', { class: 'card-text' }, h('span', { class: 'card-name', dir: 'auto' }, file.name || 'A file'),
          h('span', { class: 'card-note' }, size(file.size)))),
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
      const isPicture = isPictureFile(item.file)
      const picture = await prepare(item.file, isPicture ? messagePicture : messageFile, !isPicture)
      if (!item.element.isConnected) continue
      item.picture = picture
      if (!isPicture) continue
      item.address = URL.createObjectURL(picture.blob)
      item.element.querySelector('img').src = item.address
    } catch (error) {
      toast(error.message, 'bad')
      if (item.element.isConnected) remove(item)
    }
  }
}
