// An app in TypeScript. scripts/test-javascript compiles it with the packed package.
import {
  indexedDBStorage, PostlineClient, PostlineError, type Account, type ClientOptions, type ConnectionState,
  type Conversation, type Message, type Profile, type RefusedChange,
} from '@postline/client'
import { fileStorage } from '@postline/client/node'
import { useChat, useConversations } from '@postline/client/react'

const options: ClientOptions = { url: 'wss://chat.example.com/v1/line', storage: indexedDBStorage('chat') }
export const client = new PostlineClient(options)
export const bot = new PostlineClient({ url: '/', storage: fileStorage('bot') })

export function title(message: Message): string {
  const sender: Profile['full_name'] | undefined = message.sender?.full_name
  // @ts-expect-error A message has no such member.
  const misspelt = message.sendr
  const text = message.is_blocked || message.reply_to?.is_blocked ? '' : message.content
  return `${sender}: ${text} ${message.reactions.own.length} ${misspelt}`
}

export function list(): string[] {
  const conversations: readonly Conversation[] = client.conversations
  // @ts-expect-error A conversation has no such member.
  const misspelt = client.conversations[0].nam
  const blocked: readonly string[] = client.blocked
  return conversations.map(({ name, last_message_kind, is_last_message_blocked: isHidden }) => {
    return `${name} ${isHidden ? blocked : last_message_kind} ${misspelt}`
  })
}

export async function start(): Promise<Account | null> {
  await client.signIn({ email: 'ann@example.com', password: 'secret' })
  const { profiles } = await client.call('profiles.search', { query: 'bob' })
  const chat = client.chat(await client.openConversation(profiles[0].id))
  await chat.send('Hello', { mentions: [profiles[0].id] })
  // @ts-expect-error There is no such option.
  await chat.send('Hello', { replyTo: 1 })
  // @ts-expect-error There is no such method.
  await client.call('profiles.serch', { query: 'bob' })
  const state: ConnectionState = client.state
  const refused: RefusedChange | undefined = client.refusedChanges[0]
  if (refused?.error instanceof PostlineError && state.name === 'live') await client.discard(refused.change)
  return client.account
}

export function View({ id }: { id: string }): string {
  const { messages, chat } = useChat(id)
  // @ts-expect-error A snapshot has no such member.
  useConversations()[0].nam
  return `${messages.map(title)} ${chat.draft}`
}
