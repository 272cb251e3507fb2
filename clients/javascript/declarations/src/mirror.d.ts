/**
 * Returns the files of a change.
 *
 * @param {Pick<ChangeRecord, 'files' | 'picture'>} change
 */
export function filesOf({ files, picture }: Pick<ChangeRecord, 'files' | 'picture'>): import("./picture.js").Picture[];
/** @typedef {import('../types.js').Conversation} Conversation */
/** @typedef {import('../types.js').Profile} Profile */
/** @typedef {import('../types.js').Presence} Presence */
/** @typedef {import('../types.js').Message} Message */
/** @typedef {import('./storage.js').Write} Write */
/**
 * A conversation as the device stores it. It has the messages from `first_seq` to `held_seq`, and none if `first_seq`
 * is greater. `generation` counts resets: an object of an earlier one waits for its replacement.
 *
 * @typedef {Conversation & {
 *   last_message_event?: Message['event'], last_message_kind?: Message['kind'], last_message_is_held?: boolean
 * }} StoredConversation
 * @typedef {{
 *   generation: number, first_seq: number, held_seq: number, oldest_seq?: number, value: StoredConversation
 * }} ConversationRecord
 */
/**
 * The methods that the outbox calls.
 *
 * @typedef {'messages.send' | 'messages.edit' | 'messages.delete' | 'messages.react' | 'messages.pin'
 *   | 'messages.mark_read' | 'conversations.set' | 'me.save'} QueuedMethod
 */
/**
 * A change of the user that the server has not acknowledged.
 *
 * @typedef {object} ChangeRecord
 * @property {string} key It sorts by the time of the change.
 * @property {string} queue The conversation's id, or `me`. The changes of a queue are sent in order.
 * @property {QueuedMethod} method
 * @property {any} params
 * @property {string} created_at
 * @property {ReturnType<import('./errors.js').PostlineError['toJSON']> | null} refusal
 * @property {boolean} [isHeld] True for a message that was written without a connection, until it is first sent.
 * @property {import('./picture.js').Picture[]} [files] Files to upload before the message is sent.
 * @property {import('./picture.js').Picture} [picture] The only one, of a version before.
 * @property {Uploaded[]} [uploads] What was uploaded of the files.
 */
/** @typedef {{ id?: string, begun?: import('./upload.js').Created }} UploadState */
/** @typedef {{ file?: UploadState, preview?: UploadState }} Uploaded */
/**
 * What a commit has touched.
 *
 * @typedef {object} Touched
 * @property {Set<string>} conversations The ids of conversations whose list entry may differ.
 * @property {Set<string>} users The ids of users whose profile or presence may differ.
 * @property {Set<string>} messages The ids of conversations whose messages may differ.
 * @property {boolean} me
 * @property {boolean} changes
 * @property {Message[]} news The messages that are new to the user. None of a reset is.
 */
/**
 * A list without an id.
 *
 * @type {readonly string[]}
 */
export const noIDs: readonly string[];
/** The records of a database in memory, except messages. Reading it takes no time, so views are made from it. */
export class Mirror {
    /** @type {Map<string, any>} */
    setting: Map<string, any>;
    /** @type {Map<string, ConversationRecord>} */
    conversation: Map<string, ConversationRecord>;
    /** @type {Map<string, { generation: number, value: Profile }>} */
    profile: Map<string, {
        generation: number;
        value: Profile;
    }>;
    /** @type {Map<string, { generation: number, value: Presence }>} */
    presence: Map<string, {
        generation: number;
        value: Presence;
    }>;
    /** @type {Map<string, ChangeRecord>} */
    change: Map<string, ChangeRecord>;
    /** @type {Map<string, { id: string, content: string }>} */
    draft: Map<string, {
        id: string;
        content: string;
    }>;
    /**
     * Reads all records from a database.
     *
     * @param {import('./storage.js').Database} database
     */
    load(database: import('./storage.js').Database): Promise<void>;
    /** The changes in the order in which the user made them. */
    get changes(): ChangeRecord[];
    /**
     * The user's own data as the server has it.
     *
     * @returns {import('../types.js').Me | null}
     */
    get serverMe(): import("../types.js").Me | null;
    /**
     * The ids of the users whom the user blocks.
     *
     * @returns {readonly string[]}
     */
    get blocked(): readonly string[];
    /**
     * Applies writes, and returns what they touched.
     *
     * @param {Write[]} writes
     * @returns {Touched}
     */
    apply(writes: Write[]): Touched;
    #private;
}
export type Conversation = import('../types.js').Conversation;
export type Profile = import('../types.js').Profile;
export type Presence = import('../types.js').Presence;
export type Message = import('../types.js').Message;
export type Write = import('./storage.js').Write;
/**
 * A conversation as the device stores it. It has the messages from `first_seq` to `held_seq`, and none if `first_seq`
 * is greater. `generation` counts resets: an object of an earlier one waits for its replacement.
 */
export type StoredConversation = Conversation & {
    last_message_event?: Message['event'];
    last_message_kind?: Message['kind'];
    last_message_is_held?: boolean;
};
/**
 * A conversation as the device stores it. It has the messages from `first_seq` to `held_seq`, and none if `first_seq`
 * is greater. `generation` counts resets: an object of an earlier one waits for its replacement.
 */
export type ConversationRecord = {
    generation: number;
    first_seq: number;
    held_seq: number;
    oldest_seq?: number;
    value: StoredConversation;
};
/**
 * The methods that the outbox calls.
 */
export type QueuedMethod = 'messages.send' | 'messages.edit' | 'messages.delete' | 'messages.react' | 'messages.pin' | 'messages.mark_read' | 'conversations.set' | 'me.save';
/**
 * A change of the user that the server has not acknowledged.
 */
export type ChangeRecord = {
    /**
     * It sorts by the time of the change.
     */
    key: string;
    /**
     * The conversation's id, or `me`. The changes of a queue are sent in order.
     */
    queue: string;
    method: QueuedMethod;
    params: any;
    created_at: string;
    refusal: ReturnType<import('./errors.js').PostlineError['toJSON']> | null;
    /**
     * True for a message that was written without a connection, until it is first sent.
     */
    isHeld?: boolean | undefined;
    /**
     * Files to upload before the message is sent.
     */
    files?: import("./picture.js").Picture[] | undefined;
    /**
     * The only one, of a version before.
     */
    picture?: import("./picture.js").Picture | undefined;
    /**
     * What was uploaded of the files.
     */
    uploads?: Uploaded[] | undefined;
};
export type UploadState = {
    id?: string;
    begun?: import('./upload.js').Created;
};
export type Uploaded = {
    file?: UploadState;
    preview?: UploadState;
};
/**
 * What a commit has touched.
 */
export type Touched = {
    /**
     * The ids of conversations whose list entry may differ.
     */
    conversations: Set<string>;
    /**
     * The ids of users whose profile or presence may differ.
     */
    users: Set<string>;
    /**
     * The ids of conversations whose messages may differ.
     */
    messages: Set<string>;
    me: boolean;
    changes: boolean;
    /**
     * The messages that are new to the user. None of a reset is.
     */
    news: Message[];
};
