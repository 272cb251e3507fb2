// The client program of Tests/Conformance/README.md: an app without a user interface.
//
//     node client-program.js FOLDER PORT HTTP_PORT
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileStorage } from '../../node.js'
import { PostlineClient, PostlineError } from '../../src/index.js'
import { TestWebSocket } from './websocket.js'

const signInInterval = 50
const [folder, , port] = process.argv.slice(2)
const client = new PostlineClient({
  url: `http://127.0.0.1:${port}`, storage: fileStorage(folder), WebSocket: TestWebSocket,
})
// Each request fails with the reason.
client.ready.catch((error) => console.error(error))

/**
 * The chats that `state` has loaded. Like those that an app shows, they stay up to date.
 *
 * @type {Map<string, import('../../src/chat.js').Chat>}
 */
const chats = new Map()
let hasInput = true
let isConnected = true

/** The requests by `do`. Each gets its parameters, and resolves with the result. */
const requests = {
  signIn: ({ email, password }) => onceReachable(() => client.signIn({ email, password })),
  signInAsGuest: () => onceReachable(() => client.signInAsGuest()),
  upgrade: ({ email, password, full_name }) => client.upgrade({ email, password, fullName: full_name }),
  signOut: () => client.signOut(),
  deleteAccount: ({ password }) => client.deleteAccount({ password }),
  disconnect() {
    isConnected = false
    client.disconnect()
  },
  connect() {
    isConnected = true
    client.connect()
  },
  networkChanged() { if (isConnected) client.connect() },
  open: async ({ user }) => ({ conversation: await client.openConversation(user) }),
  createGroup: async ({ title, users }) => ({ conversation: await client.createGroup(title, users) }),
  send: async ({ conversation, text }) => ({ client_id: await client.chat(conversation).send(text) }),
  reply: async ({ conversation, text, mentions = [] }) => {
    const { seq } = await lastMessage(conversation)
    return { client_id: await client.chat(conversation).send(text, { reply_to_seq: seq, mentions }) }
  },
  sendFiles: async ({ conversation, files, text }) => {
    const options = text ? { content: text } : {}
    return { client_id: await client.chat(conversation).sendFiles(files.map(file), options) }
  },
  react: async ({ conversation, emoji, is_set = true }) => {
    await client.chat(conversation).react(await lastMessage(conversation), emoji, is_set)
  },
  pin: async ({ conversation, is_pinned = true }) => {
    await client.chat(conversation).pin(await lastMessage(conversation), is_pinned)
  },
  set: ({ conversation, settings }) => client.setConversation(conversation, settings),
  edit: async ({ conversation, text }) => client.chat(conversation).edit(await lastOwnMessage(conversation), text),
  delete: async ({ conversation }) => client.chat(conversation).delete(await lastOwnMessage(conversation)),
  markRead: ({ conversation }) => client.chat(conversation).markRead(),
  updateProfile: ({ fields }) => client.updateProfile(fields),
  block: ({ user }) => client.block(user),
  unblock: ({ user }) => client.unblock(user),
  search: async ({ query }) => {
    const { messages } = await client.searchMessages(query)
    return { contents: messages.map(({ content }) => content) }
  },
  report: async ({ conversation, user, reason }) => client.report(user ?? await lastMessage(conversation), reason),
  retry: () => Promise.all(client.refusedChanges.map(({ change }) => client.retry(change))),
  discard: () => Promise.all(client.refusedChanges.map(({ change }) => client.discard(change))),
  state: async () => {
    await loadMessages()
    return state()
  },
}

/** Returns a file to send: how it begins, and then as many characters as it is long. */
function file({ type, bytes, begin = '', name, duration_ms }) {
  return { blob: new Blob([begin, 'x'.repeat(bytes - begin.length)], { type }), type, name, duration_ms }
}

/** Runs an action again while the node is unreachable. */
async function onceReachable(action) {
  for (;;) {
    try {
      return await action()
    } catch (error) {
      if (!hasInput || !['offline', 'unavailable', 'timeout'].includes(error.code)) throw error
      await sleep(signInInterval)
    }
  }
}

/** Returns the chat of a conversation, which stays loaded. */
function chatOf(id) {
  const chat = chats.get(id) ?? client.chat(id)
  if (!chats.has(id)) chat.subscribe(() => {})
  chats.set(id, chat)
  return chat
}

/** Returns the user's last message that the server has, and that is not deleted. */
function lastOwnMessage(conversation) {
  return lastMessage(conversation, ({ sender_id }) => sender_id === client.account?.id)
}

/** Returns the last message that the server has, that is not deleted, and for which a condition is true. */
async function lastMessage(conversation, isFound = () => true) {
  const chat = chatOf(conversation)
  await chat.load()
  for (;;) {
    const found = chat.messages.findLast((each) => {
      const { seq, kind, content, attachment } = each
      return seq !== null && kind !== 'system' && (content !== null || attachment) && isFound(each)
    })
    if (found) return found
    if (!chat.hasOlder) throw new PostlineError('not_found', 'There is no such message in this conversation.')
    await chat.loadOlder()
  }
}

/** Loads all messages of all conversations. Without a connection those of the device have to do. */
async function loadMessages() {
  await client.ready
  const unreachable = new Set()
  const next = () => client.conversations.map(({ id }) => chatOf(id))
    .find((chat) => !unreachable.has(chat) && (!chat.snapshot.isLoaded || chat.hasOlder))
  // New conversations and messages may arrive meanwhile.
  for (let chat; (chat = next());) {
    try {
      await chat.load()
      if (chat.hasOlder) await chat.loadOlder()
      else if (!chat.snapshot.isLoaded) unreachable.add(chat)
    } catch {
      unreachable.add(chat)
    }
  }
}

/** Returns what the app shows. It is of one moment. */
function state() {
  const { account, me, refusedChanges, pendingCount, unreadCount, conversations } = client
  return {
    account: !account ? 'signedOut' : account.isGuest ? 'guest' : 'user',
    live: client.state.name === 'live', me: me && person(me), pending: pendingCount,
    refused: refusedChanges.map(({ error: { code } }) => ({ code })), unread: unreadCount, blocked: client.blocked,
    conversations: conversations.map(({ id, title, unread_count, last_seq, members, ...shown }) => ({
      id, title, unread: unread_count, last_seq, unread_mentions: shown.unread_mentions,
      is_marked_unread: shown.is_marked_unread, is_archived: shown.is_archived, is_pinned: shown.is_pinned,
      pinned_seqs: shown.pinned_seqs, data: shown.data, is_blocked: shown.is_blocked,
      is_last_message_blocked: shown.is_last_message_blocked,
      members: members.map(({ user_id }) => person(client.profile(user_id) ?? { id: user_id }))
        .sort((a, b) => (a.id < b.id ? -1 : 1)),
      messages: chatOf(id).messages.map(message),
    })),
  }
}

function person({ id, full_name = null, bio = null }) { return { id, full_name, bio } }

function message({ seq, sender_id, content, deleted_at, edited_at, delivery, reactions: { counts, own }, ...shown }) {
  const { reply_to, mentions, mentions_everyone, data, kind, attachments } = shown
  return {
    seq, sender: sender_id, kind, content,
    attachments: attachments.map(attachment), deleted: deleted_at !== null, edited: edited_at !== null,
    streaming: shown.is_streaming === true,
    delivery: delivery === 'queued' ? 'pending' : delivery, blocked: shown.is_blocked,
    reply_to: reply_to && { seq: reply_to.seq, content: reply_to.content, blocked: reply_to.is_blocked },
    mentions: mentions.toSorted(), mentions_everyone, data,
    reactions: Object.keys(counts).sort().map((emoji) => ({ emoji, count: counts[emoji], own: own.includes(emoji) })),
  }
}

function attachment({ name, mime_type, bytes, duration_ms }) { return { name, mime_type, bytes, duration_ms } }

async function respond(line) {
  let id = null
  try {
    const request = JSON.parse(line)
    id = request.id ?? null
    if (!Object.hasOwn(requests, request.do)) throw new PostlineError('invalid_request', `do: ${request.do}`)
    await client.ready
    const result = await requests[request.do](request)
    // Most actions have no result, and some return what the row of the table does not have.
    const names = ['open', 'createGroup', 'send', 'sendFiles', 'reply', 'search', 'state']
    return { id, result: names.includes(request.do) ? result : {} }
  } catch (error) {
    const code = error instanceof PostlineError ? error.code : 'invalid_request'
    if (!(error instanceof PostlineError)) console.error(error)
    return { id, error: { code, ...error.field && { field: error.field } } }
  }
}

let last = Promise.resolve()
const input = createInterface({ input: process.stdin })
input.on('line', (line) => {
  last = last.then(async () => { process.stdout.write(`${JSON.stringify(await respond(line))}\n`) })
})
input.on('close', async () => {
  hasInput = false
  await last
  await client.close().catch(() => {})
  process.exit()
})
