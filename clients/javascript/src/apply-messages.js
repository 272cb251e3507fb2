import { applyRead, currentConversation } from './apply-changes.js'
import { applyPieces, applyReactions, byConversation, storedMessages } from './apply-reactions.js'
import { firstCharacters, newestPreview } from './reply-preview.js'
import { messageKey, messageRange } from './storage.js'

/** @typedef {import('./draft-writes.js').DraftWrites} DraftWrites */
/** @typedef {import('../types').Message} Message */
/** @typedef {import('./mirror.js').ConversationRecord} ConversationRecord */
/** @typedef {import('./apply-reactions.js').StoredMessage} StoredMessage */

/**
 * Applies messages of any conversations, in any order. Those of a conversation that the user is not in came late, and
 * are ignored.
 *
 * @param {DraftWrites} draft
 * @param {Message[]} messages
 * @param {{ userID: string, isResponse: boolean }} options
 */
export async function applyMessages(draft, messages, { userID, isResponse }) {
  for (const [id, group] of byConversation(messages)) {
    const held = currentConversation(draft, id)
    if (held) await applyGroup(draft, held, group, { userID, isResponse })
  }
}

/**
 * Applies the older messages that `messages.list` returned for `before_seq`. The server has no others between them and
 * `before_seq`, and none at all before an empty page.
 *
 * @param {DraftWrites} draft
 * @param {string} conversationID
 * @param {number} beforeSeq
 * @param {import('../types').MethodResults['messages.list']} page
 */
export async function applyOlderMessages(draft, conversationID, beforeSeq, { messages, reactions = [], pieces = [] }) {
  const held = currentConversation(draft, conversationID)
  // The range may have moved while the page was on its way.
  if (held?.first_seq !== beforeSeq) return
  for (const message of messages) {
    if (message.seq < oldestOf(held)) continue
    draft.put('message', messageKey(conversationID, message.seq), withoutKnownSender(draft, message))
  }
  draft.put('conversation', conversationID, { ...held, first_seq: messages[0]?.seq ?? 1 })
  await applyPieces(draft, pieces)
  await applyReactions(draft, reactions)
}

/**
 * @param {DraftWrites} draft
 * @param {ConversationRecord} held
 * @param {Message[]} group
 * @param {{ userID: string, isResponse: boolean }} options
 */
async function applyGroup(draft, held, group, { userID, isResponse }) {
  const id = held.value.id
  let { first_seq, held_seq } = held
  const stored = await storedMessages(draft, id, group.map(({ seq }) => seq), held)
  const sorted = group.sort((a, b) => b.seq - a.seq || b.version - a.version)
    .filter(({ seq }, index, all) => seq !== all[index - 1]?.seq)

  // The newest messages without a gap between them.
  const above = sorted.filter(({ seq }) => seq > held_seq)
  let count = 0
  while (count < above.length && above[count].seq === above[0].seq - count) count += 1
  if (above.length && above[count - 1].seq > held_seq + 1) {
    // A response may overtake the messages before it. They come, and this one again.
    if (isResponse) return
    // A limited conversation: the server has left out messages after those that are stored.
    draft.deleteMessages(messageRange(id))
    first_seq = above[count - 1].seq
  }
  if (above.length) held_seq = above[0].seq

  const accepted = []
  for (const message of sorted) {
    const { seq } = message
    // The answer to a send that was repeated.
    if (seq < oldestOf(held)) removeSend(draft, message.client_id)
    if (seq < Math.max(first_seq - 1, oldestOf(held))) continue
    if (seq === first_seq - 1) first_seq = seq
    // The same version is the same message, and is not written again.
    const former = stored.get(seq)
    if (former && former.version >= message.version) continue
    const reactions = message.deleted_at ? undefined : former?.reactions
    draft.put('message', messageKey(id, seq), {
      ...withoutKnownSender(draft, message, userID), ...reactions && { reactions },
    })
    accepted.push(message)
  }
  await updatePreviews(draft, sorted.filter(({ version }) => version > 1), { id, first_seq, held_seq })
  if (!accepted.length) return
  const value = withLast(held.value, accepted[0])
  const unread_mentions = unreadMentions(held.value, accepted, userID)
  draft.put('conversation', id, {
    ...held, first_seq, held_seq,
    value: unread_mentions === (value.unread_mentions ?? 0) ? value : { ...value, unread_mentions },
  })
  // Sending moves the sender's own mark, to the newest of its messages.
  const senders = new Set()
  for (const { sender_id, seq, client_id } of accepted) {
    if (client_id && sender_id === userID) removeSend(draft, client_id)
    if (senders.has(sender_id)) continue
    senders.add(sender_id)
    applyRead(draft, { conversation_id: id, user_id: sender_id, last_read_seq: seq }, userID)
  }
}

/**
 * Returns the number of unread mentions after messages have come, the newest first. With one of the user's own, all
 * before it are read.
 *
 * @param {any} conversation The conversation before they came.
 * @param {Message[]} messages
 * @param {string} userID
 */
function unreadMentions({ last_seq, unread_mentions = 0 }, messages, userID) {
  const own = messages.find(({ sender_id }) => sender_id === userID)?.seq ?? 0
  const mentions = messages.filter(({ seq, mentions, mentions_everyone }) => {
    return seq > Math.max(last_seq, own) && (mentions_everyone || mentions?.includes(userID))
  })
  return Math.min((own > last_seq ? 0 : unread_mentions) + mentions.length, 100)
}

/**
 * Returns the message without its sender, if the device has the sender's profile, which is newer. Without it a message
 * is a third smaller.
 *
 * @param {DraftWrites} draft
 * @param {Message} message
 * @param {string} [userID]
 */
function withoutKnownSender(draft, message, userID) {
  if (message.sender_id !== userID && !draft.get('profile', message.sender_id)) return message
  const { sender, ...others } = message
  return others
}

/**
 * Replaces the previews of edited and deleted messages in the stored replies to them.
 *
 * @param {DraftWrites} draft
 * @param {Message[]} quoted
 * @param {{ id: string, first_seq: number, held_seq: number }} held The conversation and its stored messages.
 */
async function updatePreviews(draft, quoted, held) {
  if (!quoted.length) return
  const bySeq = new Map(quoted.map((message) => [message.seq, message]))
  // A reply has a greater number than the message that it quotes.
  const first = Math.min(...bySeq.keys()) + 1
  await replacePreviews(draft, first, held, (preview) => newestPreview(preview, bySeq.get(preview.seq)))
}

/**
 * Replaces what the stored messages from a number on quote.
 *
 * @param {DraftWrites} draft
 * @param {number} first
 * @param {{ id: string, first_seq: number, held_seq: number }} held The conversation and its stored messages.
 * @param {(preview: NonNullable<Message['reply_to']>) => Message['reply_to']} change
 */
async function replacePreviews(draft, first, { id, first_seq, held_seq }, change) {
  const low = Math.max(first_seq, first)
  const seqs = Array.from({ length: Math.max(0, held_seq - low + 1) }, (_, index) => low + index)
  for (const message of (await storedMessages(draft, id, seqs, { first_seq, held_seq })).values()) {
    if (!message.reply_to) continue
    const reply_to = change(message.reply_to)
    if (reply_to !== message.reply_to) draft.put('message', messageKey(id, message.seq), { ...message, reply_to })
  }
}

/**
 * The number of the oldest message that has not expired.
 *
 * @param {ConversationRecord} held
 */
function oldestOf({ value }) { return value.first_seq ?? 1 }

/**
 * Deletes the expired messages of a conversation, and what others quote of them.
 *
 * @param {DraftWrites} draft
 * @param {string} id
 */
export async function dropExpired(draft, id) {
  const held = currentConversation(draft, id)
  const oldest = held ? oldestOf(held) : 1
  if (!held || oldest === (held.oldest_seq ?? 1)) return
  const rest = {
    ...held, oldest_seq: oldest, first_seq: Math.max(held.first_seq, oldest),
    held_seq: Math.max(held.held_seq, oldest - 1),
  }
  draft.deleteMessages(messageRange(id, 1, oldest))
  draft.put('conversation', id, rest)
  await replacePreviews(draft, 1, { ...rest, id }, (preview) => (preview.seq < oldest
    ? { seq: preview.seq, sender_id: null, kind: null, content: null, version: 0 } : preview))
}

/**
 * Returns the conversation with the newest message as its last.
 *
 * @param {import('./mirror.js').StoredConversation} conversation
 * @param {Message} message
 */
export function withLast(conversation, message) {
  if (message.seq < conversation.last_seq) return conversation
  return {
    ...conversation,
    last_seq: message.seq,
    last_message_content: message.content && firstCharacters(message.content, 200),
    last_message_time: message.created_at,
    last_message_sender_id: message.sender_id,
    last_message_event: message.event,
    last_message_kind: message.kind,
    last_message_is_held: message.is_held,
  }
}

/**
 * Removes a message from the outbox: the server has it.
 *
 * @param {DraftWrites} draft
 * @param {string | null} clientID
 */
function removeSend(draft, clientID) {
  for (const [key, { params }] of draft.entries('change')) {
    if (params.client_id === clientID) draft.delete('change', key)
  }
}
