// What stands in an open conversation, from top to bottom: days, and messages in groups.

import { day } from './time.js'

/// Messages of one person that follow each other within this time look like one.
const groupMilliseconds = 60 * 60_000

/// The rows of a conversation. `mark` is up to where the user had read when the conversation was opened: messages after
/// it are below the divider `New`, until the user replies.
export function rowsOf(directory, conversation, messages, mark) {
  const rows = []
  let above = null
  const isMine = (message) => message.sender_id === directory.userID
  let wasMarked = mark === 0
    || messages.some((message) => isMine(message) && (message.delivery === 'queued' || message.seq > mark))

  if (messages[0]?.seq === 1 || conversation.last_seq === 0) {
    rows.push({ kind: 'beginning', key: 'beginning', conversation })
  }
  for (const message of messages) {
    const kind = message.seq === null ? 'pending' : 'message'
    if (kind === 'message') {
      if (!above || day(above.created_at) !== day(message.created_at)) {
        rows.push({ kind: 'day', key: `day ${message.seq}`, text: day(message.created_at) })
        above = null
      }
      // Not above the oldest that is held: there may be more new ones before it.
      if (!wasMarked && message.seq > mark && rows.some((row) => row.kind === 'message')) {
        rows.push({ kind: 'new', key: 'new' })
        above = null
      }
      if (message.seq > mark) wasMarked = true
    }
    const isFirst = !above || above.sender_id !== message.sender_id || message.kind === 'system'
      || new Date(message.created_at) - new Date(above.created_at) > groupMilliseconds
    if (isFirst) closeGroup(rows)
    rows.push({
      kind, key: message.id, message, isMine: isMine(message), isFirst, isLast: false,
      isNamed: isFirst && !isMine(message) && conversation.kind === 'group',
      isPinned: message.seq !== null && conversation.pinned_seqs.includes(message.seq),
    })
    above = message
  }
  closeGroup(rows)
  return rows
}

function closeGroup(rows) {
  const last = rows.at(-1)
  if (last?.kind === 'message' || last?.kind === 'pending') last.isLast = true
}
