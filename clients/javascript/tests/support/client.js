import { randomUUID } from 'node:crypto'
import { PostlineClient } from '../../src/index.js'
import { TestWebSocket } from './websocket.js'

/** The watchdog of every wait. It expires only if something hangs, even on the slowest machine. */
export const watchdog = Number(process.env.POSTLINE_TEST_WATCHDOG ?? 120_000)

export const password = 'postline-dev'

/** Returns a client of a node, which the test closes at its end. */
export function makeClient(test, url, options = {}) {
  const client = new PostlineClient({ url, WebSocket: TestWebSocket, ...options })
  test.after(() => client.close())
  return client
}

/** Returns a client that is signed in as a new user, and live. */
export async function makeUser(test, url, fullName, options = {}) {
  const client = makeClient(test, url, options)
  await client.register({ email: newEmail(), password, fullName })
  await isLive(client)
  return client
}

export function newEmail() { return `${randomUUID()}@new.example.com` }

/** Waits until a client is live. */
export function isLive(client) { return until(client, () => client.state.name === 'live', 'live') }

/**
 * Waits until a condition is true, which is checked at once and after each notification of a client or chat. Resolves
 * with the condition's value.
 */
export function until(source, condition, what) {
  return new Promise((resolve, reject) => {
    const value = condition()
    if (value) return resolve(value)
    const timer = setTimeout(() => settle(reject, new Error(`waited for: ${what}`)), watchdog)
    const end = source.subscribe(() => {
      const found = condition()
      if (found) settle(resolve, found)
    })
    function settle(action, result) {
      clearTimeout(timer)
      end()
      action(result)
    }
  })
}

/** Waits until a chat shows a message with that content and, if given, that delivery. */
export function shows(chat, content, delivery) {
  return until(chat, () => chat.messages.find((message) => {
    return message.content === content && (!delivery || message.delivery === delivery)
  }), `${content} ${delivery ?? ''}`)
}

/** Returns the chats of a new direct conversation between two clients. */
export async function makeConversation(first, second) {
  const id = await first.openConversation(second.account.id)
  await until(second, () => second.conversation(id), 'the conversation at the other user')
  const chats = [first.chat(id), second.chat(id)]
  await Promise.all(chats.map((chat) => chat.load()))
  return chats
}
