import { currentConversation } from './apply-changes.js'
import { withLast } from './apply-messages.js'
import { messageKey, messageRange } from './storage.js'

/** @typedef {import('./draft-writes.js').DraftWrites} DraftWrites */
/** @typedef {import('../types').Reactions} Reactions */
/**
 * A message as the device stores it: with its reactions, and the text so far of one that is streaming as its content.
 *
 * @typedef {import('../types').Message & {
 *   is_streaming?: boolean, reactions?: Omit<Reactions, 'conversation_id' | 'seq'>
 * }} StoredMessage
 */

/**
 * Applies reactions to stored messages. Those to others come with the page of `messages.list` that has the message.
 *
 * @param {DraftWrites} draft
 * @param {Reactions[]} reactions
 */
export function applyReactions(draft, reactions) {
  return applyToMessages(draft, reactions, (message, { version, counts, own }) => {
    const former = message.reactions
    if (message.deleted_at || (former && former.version > version)) return
    // Pushes of what others did have no own ones.
    return { ...message, reactions: { version, counts, own: own ?? former?.own ?? [] } }
  })
}

/**
 * Appends what pieces have beyond the texts so far of stored messages that are streaming.
 *
 * @param {DraftWrites} draft
 * @param {import('../types').Piece[]} pieces
 */
export function applyPieces(draft, pieces) {
  return applyToMessages(draft, pieces, (message, { start, content }) => {
    // Counted in code points.
    const text = [...(message.is_streaming && message.content) || '']
    if (message.version > 1 || start > text.length) return
    return { ...message, is_streaming: true, content: [...text, ...[...content].slice(text.length - start)].join('') }
  })
}

/**
 * Replaces stored messages by what `change` returns for the objects that belong to them, unless it is undefined.
 *
 * @template {{ conversation_id: string, seq: number }} T
 * @param {DraftWrites} draft
 * @param {T[]} objects
 * @param {(message: StoredMessage, object: T) => StoredMessage | undefined} change
 */
async function applyToMessages(draft, objects, change) {
  for (const [id, group] of byConversation(objects)) {
    const held = currentConversation(draft, id)
    if (!held) continue
    const stored = await storedMessages(draft, id, group.map(({ seq }) => seq), held)
    for (const object of group) {
      const message = stored.get(object.seq)
      const newer = message && change(message, object)
      if (!newer) continue
      stored.set(object.seq, newer)
      draft.put('message', messageKey(id, object.seq), newer)
      if (newer.content === message.content) continue
      draft.put('conversation', id, { ...held, value: withLast(draft.get('conversation', id).value, newer) })
    }
  }
}

/**
 * Returns messages or reactions by conversation.
 *
 * @template {{ conversation_id: string }} T
 * @param {T[]} objects
 */
export function byConversation(objects) {
  /** @type {Map<string, T[]>} */
  const groups = new Map()
  for (const each of objects) {
    const group = groups.get(each.conversation_id)
    if (group) group.push(each)
    else groups.set(each.conversation_id, [each])
  }
  return groups
}

/**
 * Returns the stored messages of some numbers, by number.
 *
 * @param {DraftWrites} draft
 * @param {string} id
 * @param {number[]} seqs
 * @param {{ first_seq: number, held_seq: number }} range The stored messages.
 */
export async function storedMessages(draft, id, seqs, { first_seq, held_seq }) {
  /** @type {Map<number, StoredMessage>} */
  const messages = new Map()
  let [first, last] = [Infinity, 0]
  for (const seq of seqs) {
    if (seq < first_seq || seq > held_seq) continue
    const written = draft.writtenMessage(messageKey(id, seq))
    if (written) messages.set(seq, written)
    else [first, last] = [Math.min(first, seq), Math.max(last, seq)]
  }
  if (!last) return messages
  for (const message of await draft.database.read('message', messageRange(id, first, last + 1))) {
    if (!messages.has(message.seq)) messages.set(message.seq, message)
  }
  return messages
}
