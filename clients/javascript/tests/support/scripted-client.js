import { PostlineClient } from '../../src/index.js'
import { changes, conversation, me, message, profile, ScriptedServer } from './scripted-server.js'
import { isLive, until } from './client.js'

export const ann = 'a0000000-0000-4000-8000-000000000001'
export const ben = 'b0000000-0000-4000-8000-000000000002'
export const direct = 'c0000000-0000-4000-8000-000000000001'

/** The answer to the first sync: Ann, Ben, and a conversation with `count` messages of Ben. */
export function firstPage(count = 3, members = {}) {
  return changes('1', {
    reset: true, me: me(ann), profiles: [profile(ben)],
    conversations: [conversation(direct, [ann, ben], { last_seq: count })],
    messages: Array.from({ length: Math.min(20, count) }, (_, index) => message(direct, count - index, ben)),
    ...members,
  })
}

/** Returns a server that has Ann's first page, and a client of it. The test closes the client at its end. */
export function script(test, options = {}, page = firstPage()) {
  const server = new ScriptedServer(ann)
  server.pages.push(page)
  return { server, client: connectTo(test, server, options) }
}

/** Returns another client of a server. */
export function connectTo(test, server, options = {}) {
  const client = new PostlineClient({ url: 'ws://scripted/v1/line', WebSocket: server.WebSocket, ...options })
  test.after(() => client.close())
  return client
}

/** Signs Ann in, and returns the chat with Ben. */
export async function signIn(client) {
  await client.signIn({ email: 'ann@example.com', password: 'secret' })
  await isLive(client)
  const chat = client.chat(direct)
  await chat.load()
  return chat
}

/** Ends the connection and lets no other begin, and waits until the client has noticed. */
export async function goOffline(server, client) {
  server.isReachable = false
  server.connection?.end()
  await until(client, () => client.state.name === 'offline', 'offline')
}

/** Pushes changes, and waits until they are applied: a refresh comes after them. */
export async function push(server, client, members, cursor) {
  server.push('changes', changes(cursor, members))
  await client.refresh()
}
