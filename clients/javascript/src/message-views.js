import { PostlineError } from './errors.js'
import { filesOf } from './mirror.js'
import { noReactions, reactionsView } from './reaction-views.js'
import { newestPreview } from './reply-preview.js'

/** @typedef {import('../types').Message} Message */
/** @typedef {import('../types').Profile} Profile */
/** @typedef {import('./mirror.js').ChangeRecord} ChangeRecord */
/** @typedef {import('./apply-reactions.js').StoredMessage} StoredMessage */
/**
 * A message of the protocol, with what the device adds.
 *
 * - `id`: stays the same from the moment the message is queued.
 * - `seq`: null until the server has the message.
 * - `sender`: the newest profile of the sender, as far as known.
 * - `is_delivered`: a device of each other member has received it. In groups of more than 32 members, all have read it.
 * - `is_blocked`: it is in a group, and of a user whom the user blocks: show a placeholder. So for `reply_to`.
 * - `reactions`: `counts` by emoji, and the user's `own`.
 * - `delivery`: `sent`, `queued`, or `refused` because of `error`. An edited message may be queued or refused again.
 * - `change`: the key for `retry` and `discard`, unless the message is sent.
 * - `attachments` and `attachment`: also of a message that is not sent yet.
 * - `previews`: object URLs of the attachments that are on the device, and `preview` that of the first.
 * - `progress`: the uploaded part of the files, from 0 to 1, until the message is sent.
 * - `filename`: the first attachment's name. That of a picture stays on the device, and is null once it is sent.
 *
 * @typedef {Omit<Message, 'seq' | 'sender' | 'reply_to'> & {
 *   seq: number | null, sender: Message['sender'] | Profile | null, is_delivered: boolean, is_blocked: boolean,
 *   reply_to: (NonNullable<Message['reply_to']> & { is_blocked: boolean }) | null,
 *   delivery: 'sent' | 'queued' | 'refused',
 *   error: PostlineError | null, change: string | null, preview: string | null,
 *   previews: readonly (string | null)[], progress: number | null,
 *   filename: string | null, reactions: import('./reaction-views.js').ReactionsView
 * }} MessageView
 */
/**
 * @typedef {object} MessageContext
 * @property {string} userID
 * @property {(id: string) => Profile | null} profile
 * @property {(message: { conversation_id: string, sender_id: any, kind?: any }) => boolean} isBlocked
 * @property {(key: string, blob: Blob) => string | null} preview
 * @property {(mediaID: string) => string | null} sentPreview
 * @property {(key: string) => number | null} progress
 */

/** The messages of a conversation as views. An object stays the same until its content differs. */
export class MessageViews {
  /** @type {Map<string, { key: any[], view: MessageView }>} */
  #cache = new Map()

  /** @param {MessageContext} context */
  constructor(context) { this.context = context }

  /**
   * @param {StoredMessage[]} messages The server's messages, ascending.
   * @param {ChangeRecord[]} changes The conversation's changes in the outbox, the oldest first.
   * @param {number} readMark The number up to which all other members have read.
   * @param {number} deliveredMark The number up to which devices of all other members have received.
   * @returns {readonly MessageView[]}
   */
  update(messages, changes, readMark, deliveredMark) {
    const former = this.#cache
    this.#cache = new Map()
    /** @type {Map<number, ChangeRecord>} */
    const edits = new Map()
    /** @type {Map<number, ChangeRecord[]>} */
    const reactions = new Map()
    for (const change of changes) {
      const { method, params: { seq }, refusal } = change
      if (method === 'messages.edit' || method === 'messages.delete') edits.set(seq, change)
      if (method === 'messages.react' && !refusal) reactions.set(seq, [...reactions.get(seq) ?? [], change])
    }
    const bySeq = new Map(messages.map((message) => [message.seq, message]))
    const sent = messages.map((message) => {
      const { userID, profile, sentPreview, isBlocked } = this.context
      const isOwn = message.sender_id === userID
      const id = isOwn ? message.client_id ?? message.id : message.id
      const sender = profile(message.sender_id) ?? message.sender ?? null
      const previews = attachmentsOf(message).map(({ media_id }) => isOwn && media_id ? sentPreview(media_id) : null)
      const isRead = message.seq <= readMark
      const isDelivered = message.seq <= deliveredMark
      const edit = edits.get(message.seq)
      const reacted = reactions.get(message.seq) ?? []
      // A page of older messages may have been overtaken by an edit of the quoted message.
      const quoted = message.reply_to ? bySeq.get(message.reply_to.seq) : undefined
      const is_blocked = isBlocked(message)
      const isQuoteBlocked = isBlocked({ ...message, ...message.reply_to })
      const key = [
        message, sender, isRead, isDelivered, edit, quoted, is_blocked, isQuoteBlocked, reacted.length, ...previews,
        ...reacted,
      ]
      return this.#cached(former, id, key, () => ({
        ...sentView(message, edit), id, sender, is_read: isRead, is_delivered: isDelivered, previews,
        preview: previews[0] ?? null, progress: null, is_blocked,
        reply_to: quoteView(message.reply_to, quoted, isQuoteBlocked),
        reactions: message.deleted_at || isDeleted(edit) ? noReactions : reactionsView(message, reacted),
      }))
    })
    const queued = changes.filter(({ method }) => method === 'messages.send').map((change) => {
      const { userID, profile, isBlocked } = this.context
      const sender = profile(userID)
      const files = filesOf(change)
      const previews = files.map(({ blob }, index) => this.context.preview(`${change.key}/${index}`, blob))
      const progress = files.length ? this.context.progress(change.key) : null
      const { client_id: id, reply_to_seq } = change.params
      const quoted = reply_to_seq ? bySeq.get(reply_to_seq) : undefined
      const isQuoteBlocked = quoted !== undefined && isBlocked(quoted)
      return this.#cached(former, id, [change, sender, progress, quoted, isQuoteBlocked, ...previews], () => ({
        ...queuedView(change, userID), id, sender, previews, preview: previews[0] ?? null, progress,
        reactions: noReactions, is_blocked: false,
        reply_to: quoteView(reply_to_seq && { ...unknownPreview, seq: reply_to_seq }, quoted, isQuoteBlocked),
      }))
    })
    return Object.freeze([...sent, ...queued])
  }

  /**
   * @param {Map<string, { key: any[], view: MessageView }>} former
   * @param {string} id
   * @param {any[]} key
   * @param {() => MessageView} make
   */
  #cached(former, id, key, make) {
    const held = former.get(id)
    const isSame = held?.key.length === key.length && key.every((each, index) => each === held.key[index])
    const entry = held && isSame ? held : { key, view: make() }
    this.#cache.set(id, entry)
    return entry.view
  }
}

/** A preview of a message that the device does not have. */
const unknownPreview = { sender_id: null, kind: null, content: null, version: 0 }

/**
 * @param {any} preview
 * @param {Message | undefined} quoted
 * @param {boolean} is_blocked
 */
function quoteView(preview, quoted, is_blocked) {
  return preview ? { ...newestPreview(preview, quoted), is_blocked } : null
}

/** @param {ChangeRecord} [edit] */
function isDeleted(edit) { return edit?.method === 'messages.delete' && !edit.refusal }

/**
 * @param {Message} message
 * @param {ChangeRecord} [edit]
 */
function sentView(message, edit) {
  // An older server, or the records of an older client, have none of these members.
  const { mentions = [], mentions_everyone = false, data = null } = message
  const attachments = attachmentsOf(message)
  const filename = attachments[0]?.name ?? null
  const view = { ...message, attachments, filename, mentions, mentions_everyone, data, ...deliveryOf(edit) }
  if (!edit || edit.refusal) return view
  if (isDeleted(edit)) {
    return {
      ...view, content: null, attachment: null, attachments: [], filename: null, data: null, mentions: [],
      mentions_everyone: false,
    }
  }
  const { params } = edit
  return {
    ...view, content: params.content, mentions: params.mentions ?? mentions,
    mentions_everyone: params.mentions_everyone ?? mentions_everyone,
    data: params.data === undefined ? data : params.data,
  }
}

/**
 * @param {ChangeRecord} change
 * @param {string} userID
 */
function queuedView(change, userID) {
  const { params, created_at } = change
  const files = filesOf(change)
  const given = params.attachments ?? (params.attachment ? [params.attachment] : [])
  const attachments = files.length ? files.map(fileAttachment) : given.map((/** @type {any} */ each) => ({
    ...noAttachment, ...each }))
  return {
    conversation_id: params.conversation_id, seq: null, sender_id: userID, client_id: params.client_id,
    kind: params.kind ?? 'text', content: params.content ?? null,
    attachment: attachments[0] ?? null, attachments,
    is_read: false, is_delivered: false, version: 0, mentions: params.mentions ?? [],
    mentions_everyone: params.mentions_everyone ?? false,
    data: params.data ?? null, created_at, edited_at: null, deleted_at: null, filename: files[0]?.name ?? null,
    ...deliveryOf(change),
  }
}

/**
 * @param {ChangeRecord} [change]
 * @returns {Pick<MessageView, 'delivery' | 'error' | 'change'>}
 */
function deliveryOf(change) {
  if (!change) return { delivery: 'sent', error: null, change: null }
  return {
    delivery: change.refusal ? 'refused' : 'queued', change: change.key,
    error: change.refusal && PostlineError.fromJSON(change.refusal),
  }
}

/** @type {import('../types').Message['attachments'][number]} */
const noAttachment = {
  url: '', mime_type: null, width: null, height: null, bytes: null, media_id: null, blurhash: null, name: null,
  duration_ms: null, waveform: null, preview_media_id: null,
}

/** @param {import('./picture.js').Picture} file */
function fileAttachment({ blob, type, width, height, name, duration_ms, waveform }) {
  return {
    ...noAttachment, mime_type: type, width: width ?? null, height: height ?? null, bytes: blob.size,
    name: type.startsWith('image/') ? null : name ?? null, duration_ms: duration_ms ?? null, waveform: waveform ?? null,
  }
}

/**
 * Returns the attachments of a message, also of one of an older server or that an older client has stored.
 *
 * @param {Message} message
 */
function attachmentsOf({ attachments, attachment }) { return attachments ?? (attachment ? [attachment] : []) }
