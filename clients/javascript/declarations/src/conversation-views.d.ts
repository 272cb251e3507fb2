/**
 * Returns a user's name, or null if it has none.
 *
 * @param {Pick<Profile, 'full_name' | 'username'> | null} [profile]
 */
export function displayName(profile?: Pick<import("../types.js").Profile, "full_name" | "username"> | null | undefined): string | null;
/**
 * The conversation list. Its array, and each object in it, stay the same until their content differs, so that a view
 * can compare them by `===`.
 */
export class ConversationViews {
    /**
     * @param {Mirror} mirror
     * @param {string} userID
     */
    constructor(mirror: Mirror, userID: string);
    /**
     * All conversations, the newest first.
     *
     * @type {readonly ConversationView[]}
     */
    list: readonly ConversationView[];
    mirror: import("./mirror.js").Mirror;
    userID: string;
    /**
     * @param {string} id
     * @returns {ConversationView | null}
     */
    get(id: string): ConversationView | null;
    /**
     * Makes the views anew that differ.
     *
     * @param {{ conversations?: Set<string>, users?: Set<string> }} touched Without `conversations`, all are made.
     * @param {boolean} isLive
     */
    update({ conversations, users }: {
        conversations?: Set<string>;
        users?: Set<string>;
    }, isLive: boolean): void;
    /**
     * Returns true for a message in a group of a user whom the user blocks. What happens to the group is shown.
     *
     * @param {{ conversation_id: string, sender_id: any, kind?: any }} message
     */
    isBlocked({ conversation_id, sender_id, kind }: {
        conversation_id: string;
        sender_id: any;
        kind?: any;
    }): boolean;
    /**
     * Returns a user's newest profile.
     *
     * @param {string} id
     * @returns {Profile | null}
     */
    profile(id: string): Profile | null;
    /**
     * @param {string} id
     * @param {boolean} isLive
     * @returns {Presence | null}
     */
    presence(id: string, isLive: boolean): Presence | null;
    #private;
}
export type Profile = import('../types.js').Profile;
export type Presence = import('../types.js').Presence;
export type Mirror = import('./mirror.js').Mirror;
export type ChangeRecord = import('./mirror.js').ChangeRecord;
/**
 * A conversation of the protocol, with what the device adds.
 *
 * - `name`: the title of a group, or the name of the other user; null if that user is deleted.
 * - `users`: the members' newest profiles.
 * - `other`: the other user of a direct conversation.
 * - `presence`: the other members' presence, by user. Without a live connection no user is online.
 * - `draft`: the text that the user typed and has not sent.
 * - `last_message_event`: the group change of the newest message, if it is one.
 * - `last_message_kind`: the newest message's kind, as far as known.
 * - `is_last_message_blocked`: the newest message is one of those with `is_blocked`.
 * - `is_blocked`: the user blocks the other one of the direct conversation, so neither can write.
 *
 * `last_*`, `last_read_seq`, `unread_*`, `is_*` and `pinned_seqs` include what the outbox has not sent yet.
 */
export type ConversationView = import('../types.js').Conversation & {
    name: string | null;
    users: Profile[];
    other: Profile | null;
    presence: Readonly<Record<string, Presence>>;
    draft: string;
    is_blocked: boolean;
    is_last_message_blocked: boolean;
    last_message_event?: import('../types.js').Message['event'];
    last_message_kind?: import('../types.js').Message['kind'];
};
