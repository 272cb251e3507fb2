// What the user can do with a message: the entries of its menu.

import { captionOf, fileActions, onlyPicture } from './attachments.js'
import { blockAction } from './blocks.js'
import { h } from './dom.js'
import { sentence } from './errors.js'
import { tokenize } from './links.js'
import { toast } from './notice.js'
import { hasReactions, whoReacted } from './reactions.js'
import { repliesTo, showReplies } from './replies.js'
import { openReport } from './report-dialog.js'

const mostLinks = 3

/// Returns the actions `{ name, label, run }` for a message of the server's, in their order; `name` is also the name of
/// an icon. `handlers` are `reply`, `react`, `show`, `edit`, `remove`, `openPerson`, `openPicture` and `openFile`.
export function messageActions(app, message, handlers) {
  const { client, directory, pictures } = app
  const isMine = message.sender_id === directory.userID
  const conversation = client.conversation(message.conversation_id)
  const isThere = !message.deleted_at && message.kind !== 'system'
  // Others see a deleted message while it is held.
  const mayWrite = isThere && !message.is_held && !conversation.is_blocked
  const hasPicture = isThere && onlyPicture(message)?.media_id && pictures.isOffered
  const mayEdit = isMine && mayWrite && ['text', 'image', 'video', 'audio', 'file'].includes(message.kind)
  const edit = message.kind === 'text' ? 'Edit' : captionOf(message) ? 'Edit caption' : 'Add a caption'
  const replies = repliesTo(client.chat(conversation.id), message).length
  const isPinned = conversation.pinned_seqs.includes(message.seq)
  return [
    mayWrite && { name: 'reply', label: 'Reply', run: () => handlers.reply(message) },
    mayWrite && { name: 'smile', label: 'React', run: () => handlers.react(message) },
    message.reply_to && {
      name: 'up', label: 'Go to the quoted message', run: () => handlers.show(message.reply_to.seq),
    },
    replies > 0 && {
      name: 'lines', label: replies === 1 ? 'Show the reply' : `Show ${replies} replies`,
      run: () => showReplies(app, message, handlers),
    },
    hasReactions(message) && { name: 'group', label: 'Who reacted', run: () => whoReacted(app, message) },
    hasPicture && { name: 'picture', label: 'Open picture', run: handlers.openPicture },
    ...(isThere && pictures.isOffered ? fileActions(message, handlers.openFile) : []),
    mayEdit && { name: 'edit', label: edit, run: () => handlers.edit(message) },
    ...(isThere ? textActions(captionOf(message)) : []),
    mayWrite && mayPin(directory, conversation) && {
      name: 'pin', label: isPinned ? 'Unpin' : 'Pin',
      run: () => client.chat(conversation.id).pin(message, !isPinned).catch((error) => toast(sentence(error), 'bad')),
    },
    !isMine && message.kind !== 'system' && {
      name: 'info', label: `About ${directory.name(message.sender_id)}`,
      run: () => handlers.openPerson(message.sender_id),
    },
    !isMine && isThere && { name: 'flag', label: 'Report…', run: () => openReport(app, message) },
    // In a direct conversation, its own menu has it.
    !isMine && message.kind !== 'system' && conversation.kind === 'group'
      && !directory.person(message.sender_id)?.is_deleted && blockAction(app, message.sender_id),
    isThere && (isMine || directory.moderates(conversation)) && {
      name: 'trash', label: 'Delete', run: () => handlers.remove(message),
    },
  ].filter(Boolean)
}

/// Returns true if the user may pin messages: both members of a direct conversation, of a group its owner and admins.
export function mayPin(directory, conversation) {
  return conversation.kind === 'direct' || directory.moderates(conversation)
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
