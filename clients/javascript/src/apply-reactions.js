import { currentConversation } from './apply-changes.js'
import { messageKey, messageRange } from './storage.js'

/** @typedef {import('./draft-writes.js').DraftWrites} DraftWrites */
/** @typedef {import('../types').Reactions} Reactions */
/**
 * A message as the device stores it, with its reactions.
 *
 * @typedef {import('../types').Message & { reactions?: Omit<Reactions, 'conversation_id' | 'seq'> }} StoredMessage
 */

/**
 * Applies reactions to stored messages. Those to others come with the page of `messages.list` that has the message.
 *
 * @param {DraftWrites} draft
 * @param {Reactions[]} reactions
 */
export async function applyReactions(draft, reactions) {
  for (const [id, group] of byConversation(reactions)) {
    const held = currentConversation(draft, id)
    if (!held) continue
    const stored = await storedMessages(draft, id, group.map(({ seq }) => seq), held)
    for (const { seq, version, counts, own } of group) {
      const message = stored.get(seq)
      const former = message?.reactions
      if (!message || message.deleted_at || (former && former.version > version)) continue
      // Pushes of what others did have no own ones.
      const newer = { ...message, reactions: { version, counts, own: own ?? former?.own ?? [] } }
      stored.set(seq, newer)
      draft.put('message', messageKey(id, seq), newer)
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
