import { indexedDBStorage, PostlineClient } from '../../src/index.js'
import { makeOlder } from './older-records.js'
import { changes, conversation, me, message, profile, reactions, ScriptedServer } from './scripted-server.js'
import { storageContract } from './storage-contract.js'

// The parts of tests that run in a page. tests/browsers.test.js calls them.

const ann = 'a0000000-0000-4000-8000-000000000001'

/** Runs the storage contract on IndexedDB, and returns the failures by name. */
export async function checkStorage() {
  const failures = {}
  for (const [name, check] of Object.entries(storageContract)) {
    await check(indexedDBStorage(`contract ${name}`), (actual, expected) => {
      const [found, wanted] = [actual, expected].map((each) => JSON.stringify(each))
      if (found !== wanted) failures[name] = `${found} is not ${wanted}`
    }).catch((error) => { failures[name] = String(error) })
  }
  return failures
}

/** Returns what a storage per tab has after a reload, and the databases that are left of a tab that was closed. */
export async function checkTabStorage() {
  const write = async (storage) => {
    const database = await storage.open('device')
    await database.write([{ table: 'setting', key: 'name', value: 'kept' }])
    database.close()
  }
  await write(indexedDBStorage('own', { perTab: true }))
  await write(indexedDBStorage('own/closed'))
  localStorage.setItem('own/closed', '0')
  const database = await indexedDBStorage('own', { perTab: true }).open('device')
  const [kept] = await database.read('setting')
  const left = async () => (await indexedDB.databases()).filter(({ name }) => name.includes('closed'))
  while ((await left()).length) await new Promise(requestAnimationFrame)
  return [kept, await left()]
}

/** Syncs direct conversations with as many users into IndexedDB. Half are groups of five. */
export async function fill(count, name) {
  const server = new ScriptedServer(ann)
  const ids = Array.from({ length: count }, (_, index) => idOf('b', index))
  const conversations = ids.map((user, index) => {
    const isGroup = index % 2 === 1
    const members = isGroup ? [ann, ...[0, 1, 2, 3].map((offset) => ids[(index + offset) % count])] : [ann, user]
    return conversation(idOf('c', index), members, {
      ...isGroup && { kind: 'group' }, last_seq: 1, last_message_content: `message of ${index}`,
      last_message_time: `2026-11-20T10:00:00.${String(index).padStart(6, '0')}Z`, last_message_sender_id: user,
    })
  })
  server.pages.push(changes('1', {
    reset: true, me: me(ann), profiles: ids.map((id) => profile(id)), conversations,
    messages: conversations.map(({ id, last_message_sender_id, last_message_content, last_message_time }) => {
      return message(id, 1, last_message_sender_id, { content: last_message_content, created_at: last_message_time })
    }),
  }))
  const client = new PostlineClient({ url: '/', storage: indexedDBStorage(name), WebSocket: server.WebSocket })
  await client.signIn({ email: 'ann@example.com', password: 'secret' })
  await isLive(client)
  await client.close()
  // This write waits until the records are packed, which begins after that of the sync.
  const database = await indexedDBStorage(name).open(`user/${ann}`)
  await database.write(['conversation', 'profile'].map((table) => ({ table, key: 'none' })))
  database.close()
}

/** Opens the filled storage without a server, and returns how long that takes until all conversations are shown. */
export async function measureStart(count, name) {
  const server = new ScriptedServer(ann)
  server.isReachable = false
  // Starting the page itself is not measured.
  await new Promise((idle) => requestIdleCallback(idle))
  const start = performance.now()
  const client = new PostlineClient({ url: '/', storage: indexedDBStorage(name), WebSocket: server.WebSocket })
  let shownAt
  client.subscribe(() => { if (client.conversations.length === count) shownAt ??= performance.now() })
  await client.ready
  const milliseconds = shownAt - start
  const newest = client.conversations[0].last_message_content
  await client.close()
  return { milliseconds, newest }
}

/**
 * Opens the filled storage, and prepares changes of as many messages, half of them in a conversation that is shown.
 * `globalThis.applyBatch` applies them, and returns how long that takes and the number of notifications.
 */
export async function prepareBatch(count, name) {
  const server = new ScriptedServer(ann)
  const client = new PostlineClient({ url: '/', storage: indexedDBStorage(name), WebSocket: server.WebSocket })
  await isLive(client)
  const chat = client.chat(idOf('c', 0))
  await chat.load()
  let notifications = 0
  client.subscribe(() => { notifications += 1 })
  // Those of an earlier measurement are stored.
  const next = chat.conversation.last_seq + 1
  const messages = Array.from({ length: count }, (_, index) => {
    if (index < count / 2) return message(idOf('c', 0), next + index, idOf('b', 0))
    return message(idOf('c', index), client.conversation(idOf('c', index)).last_seq + 1, idOf('b', index))
  })
  const last = next + count / 2 - 1
  const data = JSON.stringify({ jsonrpc: '2.0', method: 'changes', params: changes(String(next), { messages }) })
  Object.assign(globalThis, {
    async applyBatch() {
      const start = performance.now()
      server.connection.socket.onmessage({ data })
      await until(client, () => chat.messages[chat.messages.length - 1].seq === last)
      return { milliseconds: performance.now() - start, notifications }
    },
  })
}

/** Opens the database of an older client, and returns the cursors of its syncs, and what is shown before and after. */
export async function openOlder() {
  const storage = indexedDBStorage('older')
  await fill(1, 'older')
  await makeOlder(storage, ann)
  const server = new ScriptedServer(ann)
  server.isReachable = false
  const client = new PostlineClient({ url: '/', storage, WebSocket: server.WebSocket })
  const chat = client.chat(idOf('c', 0))
  await chat.load()
  const shown = () => [chat.messages[0].content, chat.conversation.pinned_seqs, chat.messages[0].reactions.counts]
  const before = shown()
  const user = idOf('b', 0)
  server.pages.push(changes('2'), changes('3', {
    reset: true, me: me(ann), profiles: [profile(user)],
    conversations: [conversation(chat.id, [ann, user], { last_seq: 1, pinned_seqs: [1] })],
    messages: [message(chat.id, 1, user)], reactions: [reactions(chat.id, 1, { counts: { '👍': 1 }, own: [] })],
  }))
  server.isReachable = true
  client.connect()
  await isLive(client)
  const after = shown()
  await client.close()
  return { cursors: server.calls('sync.open').map(({ cursor }) => cursor ?? null), before, after }
}

/** Opens a client whose tab stays, and returns the number of conversations. `globalThis.client` is the client. */
export async function openTab(isFirst) {
  const server = new ScriptedServer(ann)
  const client = new PostlineClient({ url: '/', storage: indexedDBStorage('tabs'), WebSocket: server.WebSocket })
  Object.assign(globalThis, { client, server, until })
  if (!isFirst) return isLive(client)
  const direct = conversation(idOf('c', 0), [ann, idOf('b', 0)])
  server.pages.push(changes('1', {
    reset: true, me: me(ann), profiles: [profile(idOf('b', 0))], conversations: [direct],
  }))
  server.methods['messages.send'] = ({ content, client_id, conversation_id }) => {
    return message(conversation_id, 1, ann, { content, client_id })
  }
  await client.signIn({ email: 'ann@example.com', password: 'secret' })
  return isLive(client)
}

/** Draws a picture as a file, and returns what `messagePicture` makes of it. */
export async function scalePicture(width, height, type) {
  const { messagePicture } = await import('../../src/index.js')
  const canvas = document.createElement('canvas')
  canvas.width = width
  canvas.height = height
  canvas.getContext('2d').fillRect(0, 0, width / 2, height)
  const blob = await new Promise((drawn) => canvas.toBlob(drawn, type))
  const picture = await messagePicture(new File([blob], 'picture', { type }))
  return { type: picture.type, width: picture.width, height: picture.height, isSame: picture.blob.size === blob.size }
}

function idOf(letter, index) { return `${letter}0000000-0000-4000-8000-${String(index).padStart(12, '0')}` }

function isLive(client) { return until(client, () => client.state.name === 'live') }

function until(source, condition) {
  return new Promise((resolve) => {
    if (condition()) return resolve()
    const end = source.subscribe(() => {
      if (!condition()) return
      end()
      resolve()
    })
  })
}
