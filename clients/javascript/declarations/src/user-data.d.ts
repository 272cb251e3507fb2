/** @typedef {import('../types.js').Me} Me */
/** @typedef {import('./mirror.js').ChangeRecord} ChangeRecord */
/** @typedef {import('./chat.js').Chat} Chat */
/** @typedef {Omit<import('../types.js').MethodParams['conversations.set'], 'conversation_id'>} ConversationSettings */
/**
 * A change that the server refused: `fields` are those of the user's own data.
 *
 * @typedef {object} RefusedChange
 * @property {string} change The key for `client.retry` and `client.discard`.
 * @property {ChangeRecord['method']} method
 * @property {string | null} conversation_id
 * @property {string | null} content
 * @property {string | null} kind The kind of a refused message.
 * @property {Record<string, any>} fields
 * @property {PostlineError} error
 * @property {string} created_at
 */
/** One user's data as the app sees it, and the user's changes. */
export class UserData {
    /**
     * @param {import('./storage.js').Database} database
     * @param {string} id
     * @param {(conversationID: string) => void} onTyping Called when other users begin or stop typing.
     */
    constructor(database: import('./storage.js').Database, id: string, onTyping: (conversationID: string) => void);
    objectURLs: ObjectURLs;
    /** @type {Me | null} */
    me: Me | null;
    /** @type {readonly RefusedChange[]} */
    refusedChanges: readonly RefusedChange[];
    pendingCount: number;
    pendingMessageCount: number;
    /**
     * Called once after each commit, with the writes.
     *
     * @type {(touched: import('./mirror.js').Touched, writes: import('./storage.js').Write[]) => void}
     */
    onChange: (touched: import('./mirror.js').Touched, writes: import('./storage.js').Write[]) => void;
    id: string;
    store: Store;
    views: ConversationViews;
    typists: Typists;
    /** @type {import('./message-views.js').MessageContext} */
    messageContext: import('./message-views.js').MessageContext;
    /** Reads the stored data. */
    load(): Promise<void>;
    /**
     * Sets whether changes arrive. Otherwise no user is shown as online or typing.
     *
     * @param {boolean} isLive
     */
    setLive(isLive: boolean): void;
    /**
     * Returns a user's presence, or null if it is unknown.
     *
     * @param {string} userID
     */
    presence(userID: string): import("../types.js").Presence | null;
    /**
     * Returns true if the chat may differ.
     *
     * @param {string} key
     * @param {number} part
     * @returns {string | undefined}
     */
    setProgress(key: string, part: number): string | undefined;
    /**
     * Queues a change.
     *
     * @param {import('./mirror.js').QueuedMethod} method
     * @param {string} queue
     * @param {object} params
     */
    queue(method: import('./mirror.js').QueuedMethod, queue: string, params: object): Promise<void>;
    /**
     * Queues a message, and returns its id. A text is no draft any more.
     *
     * @param {string} conversationID
     * @param {object} params
     * @param {import('./picture.js').Picture[]} [files]
     */
    queueMessage(conversationID: string, params: object, files?: import("./picture.js").Picture[] | undefined): Promise<string>;
    /**
     * Edits a message in the outbox that the server cannot have: it is held, or refused. It is sent as edited.
     *
     * @param {string | null} key
     * @param {object} params
     * @throws {PostlineError} `not_found` if it is being sent.
     */
    editUnsent(key: string | null, params: object): Promise<void>;
    /**
     * Queues a read mark in place of lower ones.
     *
     * @param {string} conversationID
     * @param {number} seq
     */
    queueReadMark(conversationID: string, seq: number): Promise<void>;
    /**
     * Queues settings of a conversation that only the user sees.
     *
     * @param {string} conversationID
     * @param {ConversationSettings} settings
     */
    queueSettings(conversationID: string, settings: ConversationSettings): Promise<void>;
    /**
     * @param {string} conversationID
     * @param {string} content
     */
    setDraft(conversationID: string, content: string): Promise<void>;
    /**
     * Sends a refused change again.
     *
     * @param {string} key
     */
    retry(key: string): Promise<void>;
    /**
     * Removes a change from the outbox.
     *
     * @param {string} key
     */
    discard(key: string): Promise<void>;
    close(): void;
    #private;
}
export type Me = import('../types.js').Me;
export type ChangeRecord = import('./mirror.js').ChangeRecord;
export type Chat = import('./chat.js').Chat;
export type ConversationSettings = Omit<import('../types.js').MethodParams['conversations.set'], 'conversation_id'>;
/**
 * A change that the server refused: `fields` are those of the user's own data.
 */
export type RefusedChange = {
    /**
     * The key for `client.retry` and `client.discard`.
     */
    change: string;
    method: ChangeRecord['method'];
    conversation_id: string | null;
    content: string | null;
    /**
     * The kind of a refused message.
     */
    kind: string | null;
    fields: Record<string, any>;
    error: PostlineError;
    created_at: string;
};
import { ObjectURLs } from "./object-urls.js";
import { Store } from "./store.js";
import { ConversationViews } from "./conversation-views.js";
import { Typists } from "./typists.js";
import { PostlineError } from "./errors.js";
