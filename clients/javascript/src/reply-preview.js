/** @typedef {import('../types').Message} Message */
/** @typedef {NonNullable<Message['reply_to']>} ReplyPreview */

/** The number of characters of the quoted content. */
const previewLength = 100

/**
 * Returns a message as it is quoted in a reply.
 *
 * @param {Message} message
 * @returns {ReplyPreview}
 */
export function replyPreview({ seq, sender_id, kind, content, version }) {
  return { seq, sender_id, kind, content: content && firstCharacters(content, previewLength), version }
}

/**
 * Returns the newer one of a preview and the quoted message, if that is known.
 *
 * @param {ReplyPreview} preview
 * @param {Message} [quoted]
 */
export function newestPreview(preview, quoted) {
  return quoted && quoted.version > preview.version ? replyPreview(quoted) : preview
}

/**
 * Returns the beginning of a text. A character may have two units.
 *
 * @param {string} text
 * @param {number} count
 */
export function firstCharacters(text, count) { return [...text.slice(0, 2 * count)].slice(0, count).join('') }
