/**
 * The client of a Postline server: the signed-in user, the data to show, and the actions.
 *
 * It shows data from the device at once, also without a network, and syncs them with the server. Changes are stored on
 * the device first and then sent, and the server applies each once. Objects have the members of docs/protocol.md.
 */
export class PostlineClient {
    /**
     * @param {ClientOptions} options
     * @throws {PostlineError} `invalid_params` if an option is unknown, `url` is missing or no URL, or there is no
     *   WebSocket.
     */
    constructor(options: ClientOptions);
    /**
     * Resolves once the device's data are shown.
     *
     * @type {Promise<void>}
     */
    ready: Promise<void>;
    /** The state of the connection. */
    get state(): import("./sync-engine.js").ConnectionState;
    /** The signed-in user, or null. */
    get account(): import("./client-core.js").Account | null;
    /** The user's own data, with edits that are not sent yet. Null before the first sync. */
    get me(): import("../types.js").Me | null;
    /** All conversations, the newest first. */
    get conversations(): readonly import("./conversation-views.js").ConversationView[];
    /** The ids of the users whom the user blocks, the first one first. */
    get blocked(): readonly string[];
    /** The changes that the server refused, until they are retried or discarded. The oldest is first. */
    get refusedChanges(): readonly import("./user-data.js").RefusedChange[];
    /** The number of changes that wait for the server. */
    get pendingCount(): number;
    /** The number of messages that wait for the server. */
    get pendingMessageCount(): number;
    /** The ids of users who are typing, by conversation. */
    get typing(): Readonly<Record<string, string[]>>;
    /** The number of unread messages in all conversations. */
    get unreadCount(): number;
    /** Why the device's storage cannot be used, as on a full disk. Null if it can. */
    get storeError(): PostlineError | null;
    /** The server's hello on the current connection, or null. */
    get hello(): {
        server: string;
        version: string;
        protocol: number;
        max_line_bytes: number;
        max_in_flight: number;
        ping_seconds: number;
        features: string[];
        contact: string | null;
        time: string;
    } | null;
    /**
     * Returns true if the client is live and the server has a feature, such as `media`.
     *
     * @param {string} feature
     */
    has(feature: string): boolean;
    /**
     * Returns a conversation, or null if the user is not a member.
     *
     * @param {string} id
     */
    conversation(id: string): import("./conversation-views.js").ConversationView | null;
    /**
     * Returns the newest profile of a user that the device has, or null.
     *
     * @param {string} userID
     */
    profile(userID: string): import("../types.js").Profile | null;
    /**
     * Returns a user's presence, or null if it is unknown. Without a connection no user is online.
     *
     * @param {string} userID
     */
    presence(userID: string): import("../types.js").Presence | null;
    /**
     * Calls a listener after each change of a snapshot, once for any number of changes that arrive together. Returns a
     * function that ends this.
     *
     * @param {() => void} listener
     */
    subscribe(listener: () => void): () => void;
    /**
     * Calls a listener with each message that is new to the user, also with those from the time without a connection, and
     * with the user's own. Messages of the first sync and of a reset are not new. Returns a function that ends this.
     *
     * @param {(message: import('../types.js').Message) => void} listener
     */
    onMessage(listener: (message: import('../types.js').Message) => void): () => void;
    /**
     * Returns the chat of a conversation. The same conversation has the same object.
     *
     * @param {string} conversationID
     * @throws {PostlineError} `invalid_params` if it is no id.
     */
    chat(conversationID: string): import("./chat.js").Chat;
    /**
     * Signs in.
     *
     * @param {import('./sign-in.js').Credentials} credentials
     * @returns {Promise<import('./sign-in.js').MergeResult | null>} What a merged guest brought along.
     * @throws {PostlineError} `invalid_credentials`, `email_unconfirmed`, `invalid_token`, `offline`, `rate_limited`;
     *   `invalid_params` for an unknown member; `invalid_request` if a user is signed in.
     */
    signIn(credentials: import('./sign-in.js').Credentials): Promise<import('./sign-in.js').MergeResult | null>;
    /**
     * Creates a guest, who can use everything and become an account later.
     *
     * @param {{ fullName?: string }} [options]
     */
    signInAsGuest(options?: {
        fullName?: string | undefined;
    } | undefined): Promise<void>;
    /**
     * Creates an account and signs in to it. A guest becomes the account, with its data.
     *
     * @param {{ email: string, password: string, fullName: string, username?: string }} account
     * @throws {PostlineError} `email_taken`, `username_taken`, `invalid_params`, `email_unconfirmed`, `offline`,
     *   `rate_limited`; `invalid_request` if a user is signed in.
     */
    register(account: {
        email: string;
        password: string;
        fullName: string;
        username?: string | undefined;
    }): Promise<void>;
    /**
     * Sets a new password with the token of a mail, and signs in.
     *
     * @param {MethodParams['auth.reset_password']} params
     * @throws {PostlineError} `invalid_token`, `invalid_params`, `offline`; `invalid_request` if a user is signed in.
     */
    resetPassword(params: MethodParams['auth.reset_password']): Promise<void>;
    /**
     * Turns the guest into an account with the same id and data.
     *
     * @param {{ email: string, password: string, fullName?: string }} account
     * @throws {PostlineError} `email_taken`, `invalid_params`, `forbidden`, `offline`
     */
    upgrade({ email, password, fullName }: {
        email: string;
        password: string;
        fullName?: string;
    }): Promise<void>;
    /**
     * Signs out. The user's data and unsent changes stay on the device for the next sign-in. Without a connection the
     * device keeps the tokens, only to end the session at the server as soon as that can be reached.
     *
     * @param {{ everywhere?: boolean, erase?: boolean }} [options] `everywhere` ends the sessions on all devices; `erase`
     *   removes the user's data from this one.
     * @throws {PostlineError} `offline`, only with `everywhere`: the user stays signed in.
     */
    signOut(options?: {
        everywhere?: boolean | undefined;
        erase?: boolean | undefined;
    } | undefined): Promise<void>;
    /**
     * Deletes the account, and its data on this device.
     *
     * @param {MethodParams['me.delete']} [params] The password, or Apple's identity token; none for a guest.
     */
    deleteAccount(params?: {
        password?: string | null | undefined;
        identity_token?: string | null | undefined; /** Connects now, without waiting for the next attempt, or checks the connection. */
        nonce?: string | null | undefined;
    } | undefined): Promise<void>;
    /**
     * Returns an access token for the app's own HTTP requests, valid for a while.
     *
     * @returns {Promise<string>}
     */
    accessToken(): Promise<string>;
    /**
     * Calls a method of the protocol. Objects in its result are shown at once. Without a user it opens a connection for
     * the call, for methods that need none.
     *
     * @template {MethodName} Method
     * @param {Method} method
     * @param {MethodParams[Method]} [params]
     * @returns {Promise<MethodResults[Method]>}
     * @throws {PostlineError} The server's error, or `offline`: the call may have been done.
     */
    call<Method extends keyof import("../types.js").MethodParams>(method: Method, params?: import("../types.js").MethodParams[Method] | undefined): Promise<import("../types.js").MethodResults[Method]>;
    /** Waits until the device has all changes that the server has now. @throws {PostlineError} `offline` */
    refresh(): Promise<void>;
    /**
     * Searches the user's messages on the server for all words of a text, the newest first.
     *
     * @param {string} query 2 to 100 characters. Case and accents do not count, and the last word may be a beginning.
     * @param {{ conversationId?: string, senderId?: string, limit?: number, before?: string }} [options] Only of one
     *   conversation or sender; 1 to 50 results (20); the `next` of the page before.
     * @returns {Promise<MethodResults['messages.search']>} Without messages with `is_blocked`. `is_partial` if the server
     *   ended the search early: `next` continues.
     * @throws {PostlineError} `offline`, `invalid_params`, `not_found`, `rate_limited`
     */
    searchMessages(query: string, options?: {
        conversationId?: string | undefined;
        senderId?: string | undefined;
        limit?: number | undefined;
        before?: string | undefined;
    } | undefined): Promise<MethodResults['messages.search']>;
    /**
     * Opens the direct conversation with a user, and returns its id.
     *
     * @param {string} userID
     */
    openConversation(userID: string): Promise<string>;
    /**
     * Creates a group, and returns its id.
     *
     * @param {string} title
     * @param {string[]} userIDs
     */
    createGroup(title: string, userIDs: string[]): Promise<string>;
    /**
     * Marks a conversation as unread, archives it or pins it to the top, for this user only. When this resolves, the
     * settings are stored on the device and shown.
     *
     * @param {string} conversationID
     * @param {import('./user-data.js').ConversationSettings} settings Those that are left out stay.
     * @throws {PostlineError} `invalid_params` for an unknown member; `signed_out`, `store_unusable`.
     */
    setConversation(conversationID: string, settings: import('./user-data.js').ConversationSettings): Promise<void>;
    /**
     * Blocks a user: neither of the two can write to the other or see the other's presence, and the user's messages in
     * groups have `is_blocked`. When this resolves, `blocked` has the user.
     *
     * @param {string} userID
     * @throws {PostlineError} `not_found`, `offline`, `rate_limited`; `forbidden` with 1,000 blocked users.
     */
    block(userID: string): Promise<void>;
    /**
     * Ends the block of a user.
     *
     * @param {string} userID
     * @throws {PostlineError} `offline`, `rate_limited`
     */
    unblock(userID: string): Promise<void>;
    /**
     * Returns true for a message in a group of a user whom the user blocks, such as one of a thread or a pinned one. The
     * messages of chats have it as `is_blocked`.
     *
     * @param {{ conversation_id: string, sender_id: string, kind: string }} message
     */
    isBlocked(message: {
        conversation_id: string;
        sender_id: string;
        kind: string;
    }): boolean;
    /**
     * Reports a message of another user, or a user by the id, to the operator's moderators. Nobody else is told. While an
     * earlier report of the same is open, no other is made.
     *
     * @param {string | { conversation_id: string, seq?: number }} target
     * @param {import('../types.js').MethodParams['reports.create']['reason']} reason
     * @param {string} [comment] At most 1,000 characters for the moderators.
     * @throws {PostlineError} `not_found`, `forbidden`, `invalid_params`, `offline`.
     */
    report(target: string | {
        conversation_id: string;
        seq?: number;
    }, reason: import('../types.js').MethodParams['reports.create']['reason'], comment?: string | undefined): Promise<void>;
    /**
     * Schedules a message, which the server sends at its time, whether or not this device is on.
     *
     * @param {string} conversationID
     * @param {string} content As of `chat.send`.
     * @param {Date} dueAt A time in the future, at most a year from now.
     * @param {import('./chat.js').SendOptions} [options] As of `chat.send`.
     * @throws {PostlineError} `invalid_params`, `not_found`, `offline`; `forbidden` with 100 scheduled messages.
     */
    schedule(conversationID: string, content: string, dueAt: Date, options?: import("./chat.js").SendOptions | undefined): Promise<import("../types.js").ScheduledMessage>;
    /**
     * Returns the user's scheduled messages by their time, also those that the server refused to send (`error`).
     *
     * @param {string} [conversationID] Without it, those of all conversations.
     */
    scheduled(conversationID?: string | undefined): Promise<import("../types.js").ScheduledMessage[]>;
    /**
     * Removes a scheduled message, which is not sent then.
     *
     * @param {{ id: string }} message
     * @throws {PostlineError} `not_found` if it was sent or removed.
     */
    unschedule({ id }: {
        id: string;
    }): Promise<void>;
    /**
     * Edits the user's own data. When this resolves, the edit is stored on the device and shown.
     *
     * @param {MethodParams['me.save']} fields
     */
    updateProfile(fields: MethodParams['me.save']): Promise<void>;
    /**
     * Uploads a picture and makes it the avatar, or removes the avatar.
     *
     * @param {Blob | import('./picture.js').Picture | null} file Null for no avatar.
     * @param {{ onProgress?: (part: number) => void, signal?: AbortSignal }} [options]
     */
    setAvatar(file: Blob | import('./picture.js').Picture | null, options?: {
        onProgress?: ((part: number) => void) | undefined;
        signal?: AbortSignal | undefined;
    } | undefined): Promise<void>;
    /**
     * Uploads a picture for an avatar, and returns its id for `me.save`.
     *
     * @param {Blob | import('./picture.js').Picture} file A file, or what `avatarPicture` returned for it.
     * @param {{ onProgress?: (part: number) => void, signal?: AbortSignal }} [options]
     */
    uploadAvatar(file: Blob | import('./picture.js').Picture, options?: {
        onProgress?: ((part: number) => void) | undefined;
        signal?: AbortSignal | undefined;
    } | undefined): Promise<string>;
    /**
     * Returns the URL of a message's picture for some minutes, or null if it is gone.
     *
     * @param {{ media_id?: string | null, url?: string | null } | null} attachment
     * @param {{ renew?: boolean }} [options] `renew` asks the server again, such as after the picture did not load.
     */
    pictureURL(attachment: {
        media_id?: string | null | undefined;
        url?: string | null | undefined;
    } | null, options?: {
        renew?: boolean | undefined;
    } | undefined): Promise<string | null>;
    /**
     * Returns the URL of an attachment's file for some minutes, or null if it is gone.
     *
     * @param {{ media_id?: string | null, url?: string | null } | null} attachment
     * @param {{ renew?: boolean }} [options] `renew` asks the server again.
     */
    fileURL(attachment: {
        media_id?: string | null;
        url?: string | null;
    } | null, options?: {
        renew?: boolean | undefined;
    } | undefined): Promise<string | null>;
    /**
     * Returns the URL of an attachment's preview for some minutes, or null if it has none.
     *
     * @param {{ preview_media_id?: string | null } | null} attachment
     * @param {{ renew?: boolean }} [options] `renew` asks the server again.
     */
    previewURL(attachment: {
        preview_media_id?: string | null;
    } | null, options?: {
        renew?: boolean | undefined;
    } | undefined): Promise<string | null>;
    /**
     * Sends a refused change again.
     *
     * @param {string} change
     */
    retry(change: string): Promise<void>;
    /**
     * Removes a change from the outbox. One that is being sent may still be done.
     *
     * @param {string} change
     */
    discard(change: string): Promise<void>;
    /** Connects now, without waiting for the next attempt, or checks the connection. */
    connect(): void;
    /** Disconnects until `connect` or a sign-in, such as when a mobile app goes to the background. */
    disconnect(): void;
    /**
     * Sets whether the user sees the app, outside of browsers. A user who does not is not online.
     *
     * @param {boolean} isVisible
     */
    setVisible(isVisible: boolean): void;
    /** Ends the client: the connection, the timers, and the lead among the tabs. */
    close(): Promise<void>;
    #private;
}
export type MethodName = import('../types.js').MethodName;
export type MethodParams = import('../types.js').MethodParams;
export type MethodResults = import('../types.js').MethodResults;
export type Session = import('./tokens.js').Session;
export type ConnectionState = import('./sync-engine.js').ConnectionState;
export type Account = {
    id: string;
    isGuest: boolean;
};
export type ClientOptions = {
    /**
     * The server, such as `wss://chat.example.com/v1/line`, or `/` on a page of the server.
     */
    url: string | URL;
    /**
     * The place for the data; by default the process's memory.
     */
    storage?: import("./storage.js").Storage | undefined;
    /**
     * The constructor, where it is not global.
     */
    WebSocket?: any;
    /**
     * Returns a new access token of an external
     * account. It is called when the last one has expired.
     */
    accessToken?: import("./tokens.js").AccessTokenProvider | undefined;
    /**
     * Called with each line, such as for a log.
     * Lines contain tokens and passwords.
     */
    onLine?: import('./connection.js').ConnectionOptions['onLine'];
    /**
     * True to erase the user's data if the server ends the session, such as after
     * the device was lost.
     */
    eraseOnSessionEnd?: boolean | undefined;
    /**
     * Returns the URL by which the app reads or uploads a picture, if
     * that is not the server's, or null if it cannot.
     */
    mediaURL?: import("./upload.js").MediaURL | undefined;
    /**
     * What finds other tabs; by default the browser's.
     */
    tabs?: import("./tabs.js").TabEnvironment | undefined;
};
import { PostlineError } from "./errors.js";
