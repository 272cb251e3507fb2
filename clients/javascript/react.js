import { createContext, createElement, useCallback, useContext, useMemo, useSyncExternalStore } from 'react'

/** @typedef {import('./src/client.js').PostlineClient} PostlineClient */
/** @typedef {import('./src/chat.js').Chat} Chat */
/** @typedef {import('./src/chat.js').ChatSnapshot} ChatSnapshot */

const ClientContext = createContext(/** @type {PostlineClient | null} */ (null))

/**
 * Gives a client to the components below. Create the client once, outside of components.
 *
 * @param {{ client: PostlineClient, children?: any }} props
 */
export function PostlineProvider({ client, children }) {
  return createElement(ClientContext.Provider, { value: client }, children)
}

/**
 * Returns the client, for its actions.
 *
 * @returns {PostlineClient}
 */
export function usePostline() {
  const client = useContext(ClientContext)
  if (!client) throw new Error('There is no PostlineProvider above this component.')
  return client
}

/**
 * Returns a value of the client, and draws the component again when it differs. The value must stay the same until its
 * content differs, as the client's snapshots do.
 *
 * @template Value
 * @param {(client: PostlineClient) => Value} select
 * @returns {Value}
 */
export function useClientValue(select) {
  const client = usePostline()
  const subscribe = useCallback((/** @type {() => void} */ listener) => client.subscribe(listener), [client])
  const snapshot = () => select(client)
  return useSyncExternalStore(subscribe, snapshot, snapshot)
}

/** Returns the state of the connection. */
export function useConnectionState() { return useClientValue((client) => client.state) }

/** Returns the signed-in user, or null. */
export function useAccount() { return useClientValue((client) => client.account) }

/** Returns the user's own data, or null before the first sync. */
export function useMe() { return useClientValue((client) => client.me) }

/** Returns all conversations, the newest first. */
export function useConversations() { return useClientValue((client) => client.conversations) }

/**
 * Returns a user's presence, or null if it is unknown.
 *
 * @param {string} userID
 */
export function usePresence(userID) { return useClientValue((client) => client.presence(userID)) }

/**
 * Returns what the chat of a conversation shows, and the chat for its actions.
 *
 * @param {string} conversationID
 * @returns {ChatSnapshot & { chat: Chat }}
 */
export function useChat(conversationID) {
  const client = usePostline()
  const chat = useMemo(() => client.chat(conversationID), [client, conversationID])
  const subscribe = useCallback((/** @type {() => void} */ listener) => chat.subscribe(listener), [chat])
  const getSnapshot = () => chat.snapshot
  const snapshot = useSyncExternalStore(subscribe, getSnapshot, getSnapshot)
  return useMemo(() => ({ ...snapshot, chat }), [snapshot, chat])
}
