/** The messages of one conversation: the newest, and older ones on demand. `client.chat(id)` returns it. */
export class Chat {
    /**
     * @param {string} id
     * @param {ChatClient} client
     */
    constructor(id: string, client: ChatClient);
    /** The conversation's id. */
    id: string;
    /** Everything that the chat shows. The object stays the same until its content differs. */
    get snapshot(): ChatSnapshot;
    get conversation(): import("./conversation-views.js").ConversationView | null;
    get messages(): readonly import("./message-views.js").MessageView[];
    get hasOlder(): boolean;
    get typing(): readonly import("../types.js").Profile[];
    /** The text that the user typed and has not sent. */
    get draft(): string;
    /**
     * Calls a listener after each change. Returns a function that ends this.
     *
     * @param {() => void} listener
     */
    subscribe(listener: () => void): () => void;
    /** Resolves once the device's messages are shown. */
    load(): Promise<void>;
    /**
     * Shows the data of a user, or none. The client calls it.
     *
     * @param {import('./user-data.js').UserData | null} user
     */
    attach(user: import('./user-data.js').UserData | null): void;
    /**
     * Takes the writes of a commit. The client calls it.
     *
     * @param {import('./storage.js').Write[]} writes
     */
    receive(writes: import('./storage.js').Write[]): void;
    /** Makes the snapshot anew. The client calls it when something that the chat shows may differ. */
    update(): void;
    /**
     * Shows 50 older messages, from the device or else from the server. Does nothing if there are none.
     *
     * @throws {PostlineError} `offline` if the device has no more and there is no connection.
     */
    loadOlder(): Promise<void>;
    /**
     * Shows all messages from a number on, such as that of a quoted message.
     *
     * @param {number} seq
     * @throws {PostlineError} `offline` if the device does not have them and there is no connection.
     */
    loadFrom(seq: number): Promise<void>;
    /**
     * Sends a message. When this resolves, the message is stored on the device and shown; its `delivery` says if the
     * server has it.
     *
     * @param {string} content 1 to 8,000 characters, or none with an attachment or of the kind `custom`.
     * @param {SendOptions} [options] More params of `messages.send`, such as `reply_to_seq`, `mentions` or `attachments`.
     * @returns {Promise<string>} The message's id.
     * @throws {PostlineError} `invalid_params` for an unknown option, or a content, mentions or data beyond the bounds of
     *   the protocol; `signed_out`, `store_unusable`.
     */
    send(content: string, options?: SendOptions | undefined): Promise<string>;
    /**
     * Sends a picture, scaled down to 2,048 pixels. When this resolves, it is stored on the device and shown. Its upload
     * goes on after a reload; `discard` ends it.
     *
     * @param {Blob | import('./picture.js').Picture} file A file, or what `messagePicture` returned for it.
     * @param {SendOptions & { content?: string }} [options]
     * @returns {Promise<string>} The message's id.
     * @throws {PostlineError} `invalid_params` if the file is no picture; `signed_out`, `store_unusable`.
     */
    sendPicture(file: Blob | import('./picture.js').Picture, options?: (SendOptions & {
        content?: string | undefined;
    }) | undefined): Promise<string>;
    /**
     * Sends 1 to 10 files of any kind as one message. Pictures are scaled down as by `sendPicture`; to send one as it is,
     * pass `{ blob, type: 'application/octet-stream', name }`. When this resolves, the files are stored on the device and
     * shown. Their upload goes on after a reload, where it was interrupted; `discard` ends it.
     *
     * @param {Iterable<Blob | import('./picture.js').Picture>} files Files, such as those of an input, or what
     *   `messageFile` returned for them.
     * @param {SendOptions & { content?: string }} [options]
     * @returns {Promise<string>} The message's id.
     * @throws {PostlineError} `invalid_params` for another number of files, an empty one or an unknown option;
     *   `signed_out`, `store_unusable`.
     */
    sendFiles(files: Iterable<Blob | import('./picture.js').Picture>, options?: (SendOptions & {
        content?: string | undefined;
    }) | undefined): Promise<string>;
    /**
     * Edits one of the user's own messages. One that was written without a connection or that the server refused is sent
     * as edited.
     *
     * @param {MessageView} message
     * @param {string} content
     * @param {EditOptions} [options] Other mentions or data; those that are left out stay.
     * @throws {PostlineError} `not_found` while the message is being sent; `invalid_params`, `signed_out`,
     *   `store_unusable`.
     */
    edit(message: MessageView, content: string, options?: EditOptions | undefined): Promise<void>;
    /**
     * Sets a reaction of the user to a message, or takes it back.
     *
     * @param {MessageView} message
     * @param {string} emoji
     * @param {boolean} [isSet]
     * @throws {PostlineError} `not_found` if the server does not have the message yet; `invalid_params`, `signed_out`,
     *   `store_unusable`.
     */
    react(message: MessageView, emoji: string, isSet?: boolean | undefined): Promise<void>;
    /**
     * Pins a message for all members, or unpins it. `conversation.pinned_seqs` has the numbers of the pinned ones.
     *
     * @param {{ seq: number | null }} message
     * @param {boolean} [isPinned]
     * @throws {PostlineError} `not_found` if the server does not have the message yet; `invalid_params`, `signed_out`,
     *   `store_unusable`.
     */
    pin(message: {
        seq: number | null;
    }, isPinned?: boolean | undefined): Promise<void>;
    /**
     * Deletes a message for all members. One that is not sent yet is discarded.
     *
     * @param {MessageView} message
     * @throws {PostlineError} `signed_out`, `store_unusable`
     */
    delete(message: MessageView): Promise<void>;
    /**
     * Sends a refused message, edit or deletion again.
     *
     * @param {MessageView} message
     */
    retry(message: MessageView): Promise<void>;
    /**
     * Removes an unsent message, or a refused edit or deletion. What is being sent may still be done.
     *
     * @param {MessageView} message
     */
    discard(message: MessageView): Promise<void>;
    /**
     * Marks the conversation as read, up to a message or entirely. A mark never goes back.
     *
     * @param {MessageView} [message]
     * @throws {PostlineError} `store_unusable`
     */
    markRead(message?: import("./message-views.js").MessageView | undefined): Promise<void>;
    /**
     * Stores the text that the user typed, on this device only. The other members see that the user is typing.
     *
     * @param {string} content An empty text removes the draft.
     */
    setDraft(content: string): Promise<void>;
    /**
     * Tells the other members that the user is typing, or has stopped. Call it at every keystroke: no more notices are
     * sent than the server passes on.
     *
     * @param {boolean} isTyping
     */
    setTyping(isTyping: boolean): void;
    #private;
}
export type Message = import('../types.js').Message;
export type Profile = import('../types.js').Profile;
export type MessageView = import('./message-views.js').MessageView;
export type ConversationView = import('./conversation-views.js').ConversationView;
export type SendParams = import('../types.js').MethodParams['messages.send'];
export type SendOptions = Omit<SendParams, 'conversation_id' | 'content' | 'client_id'>;
export type EditParams = import('../types.js').MethodParams['messages.edit'];
export type EditOptions = Omit<EditParams, 'conversation_id' | 'seq' | 'content'>;
/**
 * What a chat shows. The object and its members stay the same until their content differs.
 *
 * - `conversation`: null if the user is not a member, or before the first sync.
 * - `messages`: the server's by number, followed by unsent ones.
 * - `hasOlder`: true if the device or the server has older messages.
 * - `typing`: the other members who are typing.
 * - `isLoaded`: true once the device's messages are shown.
 */
export type ChatSnapshot = {
    conversation: ConversationView | null;
    messages: readonly MessageView[];
    hasOlder: boolean;
    typing: readonly Profile[];
    isLoaded: boolean;
};
/**
 * What a chat needs of its client.
 */
export type ChatClient = {
    ready: Promise<void>;
    fetchOlder: (conversationID: string) => Promise<void>;
    editUnsent: (change: string | null, params: object) => Promise<void>;
    messageSent: (conversationID: string) => void;
    setTyping: (conversationID: string, isTyping: boolean) => void;
    keep: (chat: Chat, isKept: boolean) => void;
};
