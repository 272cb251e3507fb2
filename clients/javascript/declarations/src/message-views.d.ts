/** @typedef {import('../types.js').Message} Message */
/** @typedef {import('../types.js').Profile} Profile */
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
    /** @param {MessageContext} context */
    constructor(context: MessageContext);
    context: MessageContext;
    /**
     * @param {StoredMessage[]} messages The server's messages, ascending.
     * @param {ChangeRecord[]} changes The conversation's changes in the outbox, the oldest first.
     * @param {number} readMark The number up to which all other members have read.
     * @param {number} deliveredMark The number up to which devices of all other members have received.
     * @returns {readonly MessageView[]}
     */
    update(messages: StoredMessage[], changes: ChangeRecord[], readMark: number, deliveredMark: number): readonly MessageView[];
    #private;
}
export type Message = import('../types.js').Message;
export type Profile = import('../types.js').Profile;
export type ChangeRecord = import('./mirror.js').ChangeRecord;
export type StoredMessage = import('./apply-reactions.js').StoredMessage;
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
 */
export type MessageView = Omit<Message, 'seq' | 'sender' | 'reply_to'> & {
    seq: number | null;
    sender: Message['sender'] | Profile | null;
    is_delivered: boolean;
    is_blocked: boolean;
    reply_to: (NonNullable<Message['reply_to']> & {
        is_blocked: boolean;
    }) | null;
    delivery: 'sent' | 'queued' | 'refused';
    error: PostlineError | null;
    change: string | null;
    preview: string | null;
    previews: readonly (string | null)[];
    progress: number | null;
    filename: string | null;
    reactions: import('./reaction-views.js').ReactionsView;
};
export type MessageContext = {
    userID: string;
    profile: (id: string) => Profile | null;
    isBlocked: (message: {
        conversation_id: string;
        sender_id: any;
        kind?: any;
    }) => boolean;
    preview: (key: string, blob: Blob) => string | null;
    sentPreview: (mediaID: string) => string | null;
    progress: (key: string) => number | null;
};
import { PostlineError } from "./errors.js";
