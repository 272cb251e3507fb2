// What the user can do with a message: the entries of its menu.

import { h } from './dom.js'
import { tokenize } from './links.js'
import { toast } from './notice.js'

const mostLinks = 3

/// Returns the actions `{ name, label, run }` for a message of the server's, in their order; `name` is also the name of
/// an icon. `handlers` are `edit`, `remove`, `openPerson` and `openPicture`.
export function messageActions({ client, directory, pictures }, message, handlers) {
  const isMine = message.sender_id === directory.userID
  const conversation = client.conversation(message.conversation_id)
  const moderates = conversation.kind === 'group' && ['owner', 'admin'].includes(directory.role(conversation))
  const isThere = !message.deleted_at && message.kind !== 'system'
  const hasPicture = isThere && message.attachment?.media_id && pictures.isOffered
  const mayEdit = isMine && isThere && ['text', 'image'].includes(message.kind)
  const edit = message.kind === 'text' ? 'Edit' : message.content ? 'Edit caption' : 'Add a caption'
  return [
    hasPicture && { name: 'picture', label: 'Open picture', run: handlers.openPicture },
    mayEdit && { name: 'edit', label: edit, run: () => handlers.edit(message) },
    ...(isThere ? textActions(message.content) : []),
    !isMine && message.kind !== 'system' && {
      name: 'info', label: `About ${directory.name(message.sender_id)}`,
      run: () => handlers.openPerson(message.sender_id),
    },
    isThere && (isMine || moderates) && { name: 'trash', label: 'Delete', run: () => handlers.remove(message) },
  ].filter(Boolean)
}

/// Returns the actions for a message that is not sent yet.
export function pendingActions({ client }, message) {
  const chat = client.chat(message.conversation_id)
  const discard = () => chat.discard(message)
  return [
    message.error && { name: 'send', label: 'Try again', run: () => chat.retry(message) },
    ...textActions(message.content),
    message.error ? { name: 'trash', label: 'Discard', run: discard }
      : message.attachment && { name: 'close', label: 'Cancel', run: discard },
  ].filter(Boolean)
}

function textActions(content) {
  if (!content) return []
  const addresses = new Map(tokenize(content).filter(({ href }) => href).map(({ text, href }) => [href, text]))
  return [
    { name: 'copy', label: 'Copy text', run: () => copy(content) },
    ...[...addresses].slice(0, mostLinks).map(([href, text]) => ({
      name: 'link', label: `Open ${text}`, run: () => open(href, '_blank', 'noopener,noreferrer'),
    })),
  ]
}

async function copy(text) {
  try {
    // Without HTTPS a browser has no clipboard, except on this machine.
    if (navigator.clipboard) await navigator.clipboard.writeText(text)
    else copyBySelection(text)
    toast('Copied.')
  } catch {
    toast('This browser does not let the page copy.', 'bad')
  }
}

function copyBySelection(text) {
  const active = document.activeElement
  const field = h('textarea', { class: 'unseen', value: text, readOnly: true })
  document.body.append(field)
  field.select()
  const isCopied = document.execCommand('copy')
  field.remove()
  active?.focus({ preventScroll: true })
  if (!isCopied) throw new Error('The browser refused.')
}
