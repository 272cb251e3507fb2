/**
 * Gives a client to the components below. Create the client once, outside of components.
 *
 * @param {{ client: PostlineClient, children?: any }} props
 */
export function PostlineProvider({ client, children }: {
    client: PostlineClient;
    children?: any;
}): any;
/**
 * Returns the client, for its actions.
 *
 * @returns {PostlineClient}
 */
export function usePostline(): PostlineClient;
/**
 * Returns a value of the client, and draws the component again when it differs. The value must stay the same until its
 * content differs, as the client's snapshots do.
 *
 * @template Value
 * @param {(client: PostlineClient) => Value} select
 * @returns {Value}
 */
export function useClientValue<Value>(select: (client: PostlineClient) => Value): Value;
/** Returns the state of the connection. */
export function useConnectionState(): import("./src/sync-engine.js").ConnectionState;
/** Returns the signed-in user, or null. */
export function useAccount(): import("./src/client-core.js").Account | null;
/** Returns the user's own data, or null before the first sync. */
export function useMe(): import("./types.js").Me | null;
/** Returns all conversations, the newest first. */
export function useConversations(): readonly import("./src/conversation-views.js").ConversationView[];
/**
 * Returns a user's presence, or null if it is unknown.
 *
 * @param {string} userID
 */
export function usePresence(userID: string): import("./types.js").Presence | null;
/**
 * Returns what the chat of a conversation shows, and the chat for its actions.
 *
 * @param {string} conversationID
 * @returns {ChatSnapshot & { chat: Chat }}
 */
export function useChat(conversationID: string): import("./src/chat.js").ChatSnapshot & {
    chat: Chat;
};
export type PostlineClient = import('./src/client.js').PostlineClient;
export type Chat = import('./src/chat.js').Chat;
export type ChatSnapshot = import('./src/chat.js').ChatSnapshot;
