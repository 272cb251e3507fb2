// One row of an open conversation.

import { attachmentViews, captionOf, onlyPicture, sendingFiles } from './attachments.js'
import { chipSignature, conversationChip, personChip } from './avatar.js'
import { blockedText } from './blocks.js'
import { h } from './dom.js'
import { sentence } from './errors.js'
import { eventText } from './group-event.js'
import { icon } from './icons.js'
import { tokenize } from './links.js'
import { everyone, findMentions, mention } from './mentions.js'
import { messageActions, pendingActions } from './message-actions.js'
import { sendingPicture } from './picture-view.js'
import { hasReactions, reactionChips } from './reactions.js'
import { quotedName, replyQuote } from './reply-quote.js'
import { clock, full } from './time.js'

/// Describes a row for `keyed`. `handlers` are `openPerson`, which is called with a user's id, `show` with the number
/// of a message, and `reply`, `react` and `reveal` with a message. `isRevealed` returns true for a message of a blocked
/// user that is shown on demand.
///
/// Nothing in a row is a tab stop: the list is one, and the menu of a message has all that can be done with it.
export function describeRow(app, row, handlers) {
  switch (row.kind) {
    case 'day': return describeMark(row.key, 'day', row.text)
    case 'new': return describeMark(row.key, 'new-mark', 'New')
    case 'beginning': return describeBeginning(app, row)
    case 'pending': return describePending(app, row, handlers)
    default: return describeMessage(app, row, handlers)
  }
}

function describeMark(key, kind, text) {
  return { key, signature: text, build: () => h('li', { class: kind }, h('span', {}, text)) }
}

function describeBeginning({ directory }, { conversation, key }) {
  const title = directory.title(conversation)
  const other = directory.other(conversation)
  return {
    key,
    signature: `${title}${conversation.last_seq === 0}${other && chipSignature(directory, other)}`,
    build: () => h('li', { class: 'beginning' },
      other ? personChip(directory, other, 'large') : conversationChip(directory, conversation, 'large'),
      h('p', { class: 'empty-title' }, title),
      h('p', {}, conversation.last_seq ? 'This is where it began.'
        : other ? `Write the first message to ${title}.` : 'Write the first message of this group.')),
  }
}

function describeMessage(app, row, handlers) {
  const { directory } = app
  if (row.message.kind === 'system') return describeEvent(directory, row)
  if (isHidden(row.message, handlers)) return describeHidden(row, handlers)
  const { message, isMine, isFirst, isLast, isNamed, isPinned } = row
  const isClosed = app.client.conversation(message.conversation_id)?.is_blocked
  const sender = message.sender_id
  const name = isMine ? 'You' : directory.name(sender)
  const delivery = !isMine ? '' : message.is_read ? 'read' : message.is_delivered ? 'delivered' : 'sent'
  const props = { tabIndex: -1, 'data-seq': message.seq, 'data-key': row.key }
  return {
    key: row.key,
    signature: [
      // A text that grows has the same version.
      message.version, message.is_streaming && message.content,
      isFirst, isLast, delivery, name, app.pictures.isOffered, isPinned,
      isClosed, detailsSignature(app, message),
      !isMine && isLast && chipSignature(directory, sender),
    ].join('|'),
    plain: () => h('li', { class: classes(row), ...props },
      h('div', { class: 'bubble' }, h('span', { class: 'text', dir: 'auto' },
        [name, message.content, ...message.attachments.map(({ url }) => url)].filter(Boolean).join('\n')))),
    build: () => {
      const state = message.deleted_at ? 'deleted' : message.is_held ? 'held' : message.is_streaming && 'streaming'
      return h('li', { class: classes(row, state), ...props },
      !isMine && (isLast ? h('button', {
        class: 'chip-button', type: 'button', tabIndex: -1, 'aria-label': `About ${name}`,
        onclick: () => handlers.openPerson(sender),
      }, personChip(directory, sender, 'small')) : h('span', { class: 'chip-space' })),
      h('div', { class: bubbleClass(!message.deleted_at && onlyPicture(message)?.media_id, message.content) },
        isNamed ? h('span', { class: 'sender' }, name) : h('span', { class: 'unseen' }, `${name}: `),
        message.reply_to && !message.deleted_at && replyQuote(directory, message.reply_to, handlers.show),
        content(app, message, isMine ? 'Your picture' : `Picture by ${name}`),
        h('span', { class: 'meta' },
          isPinned && pinMark(),
          message.is_held && h('span', {}, 'Waiting for a moderator'),
          message.edited_at && !message.deleted_at && h('span', { title: full(message.edited_at) }, 'edited'),
          h('time', { dateTime: message.created_at, title: full(message.created_at) }, clock(message.created_at)),
          isMine && !message.deleted_at && !message.is_held && tick(delivery))),
      !message.deleted_at && !message.is_held && !isClosed && tools(message, handlers),
      hasReactions(message) && reactionChips(app, message))
    },
  }
}

function isHidden(message, { isRevealed }) {
  return message.is_blocked && !message.deleted_at && !isRevealed(message)
}

/// The place of a message of a blocked user.
function describeHidden(row, { reveal }) {
  const { key, message, isFirst, isLast } = row
  return {
    key,
    signature: `blocked ${isFirst} ${isLast}`,
    build: () => h('li', {
      class: classes(row, 'deleted'), tabIndex: -1, 'data-seq': message.seq, 'data-key': key,
    },
    h('span', { class: 'chip-space' }),
    h('div', { class: 'bubble' }, h('span', { class: 'tombstone' }, `${blockedText}. `), h('button', {
      class: 'link-button', type: 'button', tabIndex: -1, onclick: () => reveal(message),
    }, 'Show'))),
  }
}

/// The buttons beside a message that the pointer is on.
function tools(message, { reply, react }) {
  const tool = (name, label, run) => h('button', {
    class: 'icon-button', type: 'button', tabIndex: -1, 'aria-label': label, title: label, onclick: () => run(message),
  }, icon(name))
  return h('span', { class: 'message-tools' }, tool('reply', 'Reply', reply), tool('smile', 'React', react))
}

/// What a message shows beside its own version.
function detailsSignature({ directory }, { reactions, reply_to: quoted, mentions }) {
  return JSON.stringify([
    reactions, quoted && [quoted.version, quotedName(directory, quoted), quoted.is_blocked],
    mentions.map((id) => mention(directory, id)),
  ])
}

/// A system message is a line without a bubble and without a menu.
function describeEvent(directory, { key, message }) {
  const text = eventText(directory, message)
  return {
    key,
    signature: text,
    build: () => h('li', { class: 'day event', 'data-seq': message.seq },
      h('span', { dir: 'auto', title: full(message.created_at) }, text)),
  }
}

function describePending(app, row, { show }) {
  const { message } = row
  const { attachment, content, created_at: time, error } = message
  const hasFailed = error !== null
  const subject = onlyPicture(message) ? 'The picture' : message.attachments.length > 0 ? 'The file' : 'The message'
  const failure = error && sentence(error, subject)
  return {
    key: row.key,
    signature: `${failure}|${row.isFirst}|${row.isLast}|${message.reply_to?.version}`,
    build: () => h('li', {
      class: classes(row, hasFailed ? 'failed' : 'pending'), tabIndex: -1, 'data-key': row.key,
    },
    h('div', { class: bubbleClass(onlyPicture(message), content) },
      h('span', { class: 'unseen' }, 'You: '),
      message.reply_to && replyQuote(app.directory, message.reply_to, show),
      attachment && (onlyPicture(message) ? sendingPicture : sendingFiles)(
        message, () => app.client.discard(message.change)),
      content && text(app, message, content),
      h('span', { class: 'meta' }, h('time', {}, clock(time)),
        h('span', { class: 'tick', title: hasFailed ? 'Not sent' : 'On its way' },
          icon(hasFailed ? 'warning' : 'clock'),
          h('span', { class: 'unseen' }, hasFailed ? 'not sent' : 'on its way')))),
    hasFailed && h('p', { class: 'failure' }, failure, ' ',
      pendingActions(app, message).filter(({ name }) => name !== 'copy' && name !== 'link').map(({ label, run }) => {
        return h('button', { class: 'link-button', type: 'button', tabIndex: -1, onclick: run }, label)
      }))),
  }
}

/// The title and the actions of the menu of a row.
export function describeMenu(app, row, handlers) {
  const { kind, message } = row
  const title = full(message.created_at)
  if (kind === 'pending') return { title, actions: pendingActions(app, message) }
  const actions = messageActions(app, message, handlers)
  if (!isHidden(message, handlers)) return { title, actions }
  return {
    title,
    actions: [
      { name: 'eye', label: 'Show', run: () => handlers.reveal(message) },
      ...actions.filter(({ name }) => ['info', 'flag', 'block', 'trash'].includes(name)),
    ],
  }
}

/// A picture fills its bubble, with the time on it or with a caption below it.
function bubbleClass(picture, caption) {
  return !picture ? 'bubble' : caption ? 'bubble with-picture captioned' : 'bubble with-picture'
}

function classes(row, extra) {
  return ['message', row.isMine ? 'mine' : 'theirs', row.isFirst && 'first', row.isLast && 'last', extra]
    .filter(Boolean).join(' ')
}

function pinMark() {
  return h('span', { class: 'pin-mark', role: 'img', 'aria-label': 'Pinned', title: 'Pinned' }, icon('pin'))
}

function tick(delivery) {
  const words = { sent: 'Sent', delivered: 'Delivered to all', read: 'Read by all' }[delivery]
  return h('span', { class: `tick ${delivery}`, title: words },
    icon(delivery === 'sent' ? 'check' : 'checks'), h('span', { class: 'unseen' }, words))
}

function content(app, message, alt) {
  if (message.deleted_at) return h('span', { class: 'tombstone' }, 'This message was deleted.')
  const caption = captionOf(message)
  return [
    ...attachmentViews(app, message, alt),
    caption || message.is_streaming ? text(app, message, caption)
      : message.kind === 'custom' && h('span', { class: 'tombstone' }, 'A message for another app.'),
  ]
}

function text({ directory }, { sender_id: sender, mentions, mentions_everyone: isForAll }, written) {
  const people = [...mentions, ...isForAll ? [everyone] : []].map((id) => mention(directory, id))
  return h('span', { class: 'text', dir: 'auto' }, tokenize(written).flatMap((part) => {
    if (!part.href) return withMentions(directory, part.text, people, sender === directory.userID)
    return h('a', { href: part.href, target: '_blank', rel: 'noopener noreferrer', tabIndex: -1 }, part.text)
  }))
}

/// Returns a text as parts, in which mentions are highlighted, and those of the user more so.
function withMentions(directory, written, people, isMine) {
  const parts = []
  let at = 0
  for (const { index, length, id } of findMentions(written, people)) {
    const isOwn = !isMine && (id === everyone || id === directory.userID)
    parts.push(written.slice(at, index), h('span', {
      class: isOwn ? 'mention own' : 'mention', title: id === everyone ? 'All members' : directory.name(id),
    }, written.slice(index, index + length)))
    at = index + length
  }
  return [...parts, written.slice(at)]
}
