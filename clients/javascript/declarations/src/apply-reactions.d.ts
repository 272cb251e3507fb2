/** @typedef {import('./draft-writes.js').DraftWrites} DraftWrites */
/** @typedef {import('../types.js').Reactions} Reactions */
/**
 * A message as the device stores it: with its reactions, and the text so far of one that is streaming as its content.
 *
 * @typedef {import('../types.js').Message & {
 *   is_streaming?: boolean, reactions?: Omit<Reactions, 'conversation_id' | 'seq'>
 * }} StoredMessage
 */
/**
 * Applies reactions to stored messages. Those to others come with the page of `messages.list` that has the message.
 *
 * @param {DraftWrites} draft
 * @param {Reactions[]} reactions
 */
export function applyReactions(draft: DraftWrites, reactions: Reactions[]): Promise<void>;
/**
 * Appends what pieces have beyond the texts so far of stored messages that are streaming.
 *
 * @param {DraftWrites} draft
 * @param {import('../types.js').Piece[]} pieces
 */
export function applyPieces(draft: DraftWrites, pieces: import('../types.js').Piece[]): Promise<void>;
/**
 * Returns messages or reactions by conversation.
 *
 * @template {{ conversation_id: string }} T
 * @param {T[]} objects
 */
export function byConversation<T extends {
    conversation_id: string;
}>(objects: T[]): Map<string, T[]>;
/**
 * Returns the stored messages of some numbers, by number.
 *
 * @param {DraftWrites} draft
 * @param {string} id
 * @param {number[]} seqs
 * @param {{ first_seq: number, held_seq: number }} range The stored messages.
 */
export function storedMessages(draft: DraftWrites, id: string, seqs: number[], { first_seq, held_seq }: {
    first_seq: number;
    held_seq: number;
}): Promise<Map<number, StoredMessage>>;
export type DraftWrites = import('./draft-writes.js').DraftWrites;
export type Reactions = import('../types.js').Reactions;
/**
 * A message as the device stores it: with its reactions, and the text so far of one that is streaming as its content.
 */
export type StoredMessage = import('../types.js').Message & {
    is_streaming?: boolean;
    reactions?: Omit<Reactions, 'conversation_id' | 'seq'>;
};
