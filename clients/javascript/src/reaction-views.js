/** @typedef {import('./mirror.js').ChangeRecord} ChangeRecord */
/**
 * The reactions to a message: the number of users by emoji, and what the user has set. Both include what the outbox has
 * not sent yet.
 *
 * @typedef {{ counts: Readonly<Record<string, number>>, own: readonly string[] }} ReactionsView
 */

/** @type {ReactionsView} */
export const noReactions = Object.freeze({ counts: Object.freeze({}), own: Object.freeze([]) })

/**
 * Returns a message's reactions as the app shows them.
 *
 * @param {import('./apply-reactions.js').StoredMessage} message
 * @param {readonly ChangeRecord[]} changes The user's reactions to it that are not sent, the oldest first.
 * @returns {ReactionsView}
 */
export function reactionsView({ reactions }, changes) {
  if (!reactions && !changes.length) return noReactions
  const counts = { ...reactions?.counts }
  const own = new Set(reactions?.own)
  for (const { params: { emoji, is_set } } of changes) {
    if (own.has(emoji) === is_set) continue
    own[is_set ? 'add' : 'delete'](emoji)
    counts[emoji] = (counts[emoji] ?? 0) + (is_set ? 1 : -1)
    if (counts[emoji] <= 0) delete counts[emoji]
  }
  return Object.freeze({ counts: Object.freeze(counts), own: Object.freeze([...own]) })
}
