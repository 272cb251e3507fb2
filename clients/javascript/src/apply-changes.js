import { applyMessages, dropExpired } from './apply-messages.js'
import { applyPieces, applyReactions } from './apply-reactions.js'
import { messageRange } from './storage.js'

/** @typedef {import('./draft-writes.js').DraftWrites} DraftWrites */
/** @typedef {import('../types').Changes} Changes */
/** @typedef {import('../types').Conversation} Conversation */
/** @typedef {import('./mirror.js').ConversationRecord} ConversationRecord */

/**
 * The version of the stored records. An older client that synced with a newer server has dropped members which it did
 * not know, so records of an older version are fetched again by a reset. Version 2 has reactions, 3 the kind of a
 * conversation's last message, and 4 the blocked users and no expired messages.
 */
export const recordVersion = 4

/**
 * Applies changes from the server by the rules of docs/protocol.md, section 3. Applying them twice, or after newer
 * ones, changes nothing.
 *
 * @param {DraftWrites} draft
 * @param {Partial<Changes>} changes
 * @param {{ userID: string, isResponse?: boolean }} options `isResponse`: the changes are the objects of a response,
 *   which may be ahead of the changes before them.
 */
export async function applyChanges(draft, changes, { userID, isResponse = false }) {
  if (changes.reset) beginReset(draft)
  const generation = generationOf(draft)
  let hasLostMembers = false
  // `left` first: a user who was removed and added again is a member.
  for (const id of changes.left ?? []) {
    removeConversation(draft, id)
    draft.delete('draft', id)
    hasLostMembers = true
  }
  const isNews = (/** @type {any} */ held, /** @type {{ version: number }} */ value) => {
    return held?.generation !== generation || held.value.version < value.version
  }
  const { me } = changes
  if (me && isNews(draft.get('setting', 'me'), me)) draft.set('me', { generation, value: me })
  const blocked = changes.blocked ?? (changes.reset ? [] : undefined)
  // The same list stays the same object.
  if (blocked && String(blocked) !== String(draft.get('setting', 'blocked') ?? [])) draft.set('blocked', blocked)
  for (const value of changes.profiles ?? []) {
    if (isNews(draft.get('profile', value.id), value)) draft.put('profile', value.id, { generation, value })
  }
  for (const conversation of changes.conversations ?? []) {
    hasLostMembers = applyConversation(draft, conversation) || hasLostMembers
    await dropExpired(draft, conversation.id)
  }
  await applyMessages(draft, changes.messages ?? [], { userID, isResponse })
  await applyPieces(draft, changes.pieces ?? [])
  await applyReactions(draft, changes.reactions ?? [])
  for (const read of changes.reads ?? []) applyRead(draft, read, userID)
  for (const mark of changes.delivered ?? []) applyDelivered(draft, mark)
  for (const presence of changes.presence ?? []) {
    draft.put('presence', presence.user_id, { generation, value: presence })
  }
  if (changes.cursor) draft.set('cursor', changes.cursor)
  if (changes.more === false && draft.get('setting', 'is_resetting')) hasLostMembers = endReset(draft) || hasLostMembers
  if (hasLostMembers && !changes.more) prunePresence(draft)
}

/**
 * The number of resets so far.
 *
 * @param {DraftWrites} draft
 * @returns {number}
 */
export function generationOf(draft) { return draft.get('setting', 'generation') ?? 0 }

/**
 * Returns a conversation of the current generation.
 *
 * @param {DraftWrites} draft
 * @param {string} id
 * @returns {ConversationRecord | undefined}
 */
export function currentConversation(draft, id) {
  const held = draft.get('conversation', id)
  return held?.generation === generationOf(draft) ? held : undefined
}

/**
 * Begins a reset. What is stored stays visible until it is replaced or the last page has come, since the connection may
 * be lost between the pages.
 *
 * @param {DraftWrites} draft
 */
function beginReset(draft) {
  draft.set('generation', generationOf(draft) + 1)
  draft.set('is_resetting', true)
  draft.set('record_version', recordVersion)
}

/**
 * Deletes the server's objects that did not come with the reset. Drafts and the outbox stay.
 *
 * @param {DraftWrites} draft
 */
function endReset(draft) {
  const generation = generationOf(draft)
  draft.delete('setting', 'is_resetting')
  for (const table of /** @type {const} */ (['conversation', 'profile', 'presence'])) {
    for (const [key, record] of draft.entries(table)) {
      if (record.generation === generation) continue
      if (table === 'conversation') removeConversation(draft, key)
      else draft.delete(table, key)
    }
  }
  return true
}

/**
 * @param {DraftWrites} draft
 * @param {string} id
 */
function removeConversation(draft, id) {
  draft.delete('conversation', id)
  draft.deleteMessages(messageRange(id))
}

/**
 * Returns true if the conversation may have lost members.
 *
 * @param {DraftWrites} draft
 * @param {Conversation} conversation
 */
function applyConversation(draft, conversation) {
  const held = currentConversation(draft, conversation.id)
  if (held) {
    const value = merge(held.value, conversation)
    // An object that is the same stays the same, so that views need not be made again. A mute has no version.
    if (JSON.stringify(value) !== JSON.stringify(held.value)) draft.put('conversation', value.id, { ...held, value })
    return held.value.version < conversation.version
  }
  // A reset tells nothing of edits and deletions, so the messages from before it are of no use.
  if (draft.get('conversation', conversation.id)) draft.deleteMessages(messageRange(conversation.id))
  const { last_seq } = conversation
  draft.put('conversation', conversation.id, {
    generation: generationOf(draft), first_seq: last_seq + 1, held_seq: last_seq, value: conversation,
  })
  return false
}

/**
 * Returns the newest of both states: the metadata of the greater version, `last_*` of the greater `last_seq`, and the
 * greater of each mark.
 *
 * @param {import('./mirror.js').StoredConversation} held
 * @param {Conversation} newer
 * @returns {import('./mirror.js').StoredConversation}
 */
function merge(held, newer) {
  const [base, other] = held.version > newer.version ? [held, newer] : [newer, held]
  const last = other.last_seq > base.last_seq ? other : base
  const { last_seq, last_message_time, last_message_sender_id } = last
  const reader = other.last_read_seq > base.last_read_seq ? other : base
  // The server's conversations have none of these.
  const { last_message_event, last_message_kind, last_message_is_held } = held.last_seq < newer.last_seq
    ? /** @type {Partial<typeof held>} */ ({}) : held
  const marks = new Map(other.members.map((member) => [member.user_id, member]))
  return {
    ...base,
    last_seq,
    // The conversation has no preview of a held message, not even for its sender.
    last_message_content: (last_message_is_held ? held : last).last_message_content,
    last_message_time,
    last_message_sender_id,
    last_message_event,
    last_message_kind,
    last_message_is_held,
    last_read_seq: reader.last_read_seq,
    // The mentions after the greater mark, up to the greater number.
    unread_mentions: reader.last_read_seq >= last_seq ? 0 : (reader === base ? last : reader).unread_mentions,
    members: base.members.map((member) => {
      const mark = marks.get(member.user_id) ?? member
      const last_read_seq = Math.max(mark.last_read_seq, member.last_read_seq)
      const last_delivered_seq = Math.max(deliveredMark(mark), deliveredMark(member))
      const isSame = last_read_seq === member.last_read_seq && last_delivered_seq === deliveredMark(member)
      return isSame ? member : { ...member, last_read_seq, last_delivered_seq }
    }),
  }
}

/**
 * @param {DraftWrites} draft
 * @param {{ conversation_id: string, user_id: string, last_read_seq: number }} read
 * @param {string} userID
 */
export function applyRead(draft, { conversation_id, user_id, last_read_seq }, userID) {
  const held = currentConversation(draft, conversation_id)
  if (!held) return
  const { value } = held
  const isOwn = user_id === userID && value.last_read_seq < last_read_seq
  let hasMoved = isOwn
  const members = value.members.map((each) => {
    if (each.user_id !== user_id || each.last_read_seq >= last_read_seq) return each
    hasMoved = true
    return { ...each, last_read_seq, last_delivered_seq: Math.max(deliveredMark(each), last_read_seq) }
  })
  if (!hasMoved) return
  draft.put('conversation', conversation_id, {
    ...held, value: {
      ...value, members, ...isOwn && {
        last_read_seq, is_marked_unread: false, ...last_read_seq >= value.last_seq && { unread_mentions: 0 },
      },
    },
  })
}

/**
 * The number up to which a member's devices have received a conversation. An older server tells only what was read.
 *
 * @param {Conversation['members'][number]} member
 */
export function deliveredMark(member) { return Math.max(member.last_delivered_seq ?? 0, member.last_read_seq) }

/**
 * @param {DraftWrites} draft
 * @param {NonNullable<Changes['delivered']>[number]} mark
 */
function applyDelivered(draft, { conversation_id, user_id, last_delivered_seq }) {
  const held = currentConversation(draft, conversation_id)
  const member = held?.value.members.find((each) => each.user_id === user_id)
  if (!held || !member || deliveredMark(member) >= last_delivered_seq) return
  const members = held.value.members.map((each) => (each === member ? { ...each, last_delivered_seq } : each))
  draft.put('conversation', conversation_id, { ...held, value: { ...held.value, members } })
}

/**
 * Forgets the presence of users who share no conversation: no more of it comes.
 *
 * @param {DraftWrites} draft
 */
function prunePresence(draft) {
  const shared = new Set()
  for (const [, { value }] of draft.entries('conversation')) {
    for (const { user_id } of value.members) shared.add(user_id)
  }
  for (const [id] of draft.entries('presence')) if (!shared.has(id)) draft.delete('presence', id)
}
