// The message that another one answers, quoted in it and above the field.

import { blockedText } from './blocks.js'
import { h } from './dom.js'

/// What stands for a message without text. A text without any has begun to stream.
const kinds = { text: '…', image: 'A picture', video: 'A video', audio: 'A voice message', file: 'A file' }

/// Returns who wrote a quoted message, as the page names the user.
export function quotedName(directory, { sender_id: sender }) {
  return sender === null ? 'A message' : sender === directory.userID ? 'You' : directory.name(sender)
}

/// The name that the page and the apps give to a recording, which is its message's content.
const recordingName = /^Voice message\.(webm|m4a)$/

/// Returns the text of a quoted message in one line.
export function quotedText({ kind, content, version, is_blocked: isBlocked }) {
  if (isBlocked) return blockedText
  if (version === 0) return 'This message is not loaded.'
  return content === null ? 'This message was deleted.'
    : kind === 'audio' && recordingName.test(content) ? 'Voice message'
      : content || (kinds[kind] ?? 'A message without text')
}

/// The quote in a message. A press shows the quoted message in its place.
export function replyQuote(directory, preview, show) {
  const name = quotedName(directory, preview)
  return h('button', {
    class: 'quote', type: 'button', tabIndex: -1, title: 'Go to this message', onclick: () => show(preview.seq),
  },
  h('span', { class: 'unseen' }, 'Reply to '), h('span', { class: 'quote-name' }, name),
  h('span', { class: 'quote-text', dir: 'auto' }, quotedText(preview)))
}
