/**
 * Returns a message's reactions as the app shows them.
 *
 * @param {import('./apply-reactions.js').StoredMessage} message
 * @param {readonly ChangeRecord[]} changes The user's reactions to it that are not sent, the oldest first.
 * @returns {ReactionsView}
 */
export function reactionsView({ reactions }: import('./apply-reactions.js').StoredMessage, changes: readonly ChangeRecord[]): ReactionsView;
/** @typedef {import('./mirror.js').ChangeRecord} ChangeRecord */
/**
 * The reactions to a message: the number of users by emoji, and what the user has set. Both include what the outbox has
 * not sent yet.
 *
 * @typedef {{ counts: Readonly<Record<string, number>>, own: readonly string[] }} ReactionsView
 */
/** @type {ReactionsView} */
export const noReactions: ReactionsView;
export type ChangeRecord = import('./mirror.js').ChangeRecord;
/**
 * The reactions to a message: the number of users by emoji, and what the user has set. Both include what the outbox has
 * not sent yet.
 */
export type ReactionsView = {
    counts: Readonly<Record<string, number>>;
    own: readonly string[];
};
