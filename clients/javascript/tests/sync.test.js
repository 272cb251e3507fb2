import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { memoryStorage } from '../src/index.js'
import { isLive, until } from './support/client.js'
import { ann, ben, connectTo, direct, firstPage, push, script, signIn } from './support/scripted-client.js'
import { changes, conversation, me, message, profile } from './support/scripted-server.js'

const group = 'd0000000-0000-4000-8000-000000000001'
const carol = 'e0000000-0000-4000-8000-000000000003'

function contents(chat) { return chat.messages.map(({ content }) => content) }

describe('Sync', () => {
  test('continues from the stored cursor, and shows the stored data before', async (t) => {
    const storage = memoryStorage()
    const { server, client } = script(t, { storage })
    await signIn(client)
    await client.close()
    server.isReachable = false
    const again = connectTo(t, server, { storage })
    await again.ready
    assert.equal(again.me.id, ann)
    assert.equal(again.conversations.length, 1)
    const chat = again.chat(direct)
    await chat.load()
    assert.deepEqual(contents(chat), ['message 1', 'message 2', 'message 3'])
    await until(again, () => again.state.name === 'offline', 'offline')
    server.isReachable = true
    again.connect()
    await isLive(again)
    assert.equal(server.calls('sync.open').at(-1).cursor, '1')
  })

  test('applies pages with their cursors', async (t) => {
    const { server, client } = script(t, {}, { ...firstPage(), more: true })
    server.pages.push(changes('2', { messages: [message(direct, 4, ben)] }))
    const chat = await signIn(client)
    assert.deepEqual(server.calls('sync.open').map(({ cursor }) => cursor), [undefined, '1'])
    assert.equal(chat.messages.length, 4)
  })

  test('ignores older versions and applies the same changes twice', async (t) => {
    const { server, client } = script(t)
    const chat = await signIn(client)
    const edited = message(direct, 2, ben, { version: 3, content: 'edited' })
    const renamed = profile(ben, { version: 5, full_name: 'Benjamin' })
    for (let times = 0; times < 2; times += 1) {
      await push(server, client, { messages: [edited], profiles: [renamed] }, '2')
      await push(server, client, { messages: [message(direct, 2, ben)], profiles: [profile(ben)] }, '3')
      assert.deepEqual(contents(chat), ['message 1', 'edited', 'message 3'])
      assert.equal(client.conversations[0].name, 'Benjamin')
      assert.equal(chat.messages[0].sender.full_name, 'Benjamin')
    }
  })

  test('keeps the metadata of the greater version and the last message of the greater number', async (t) => {
    const { server, client } = script(t)
    await signIn(client)
    const versions = [
      conversation(direct, [ann, ben], { version: 4, last_seq: 3, muted_until: '2030-01-01T00:00:00.000000Z' }),
      conversation(direct, [ann, ben], { version: 2, last_seq: 9, last_message_content: 'newer', last_read_seq: 2 }),
    ]
    await push(server, client, { conversations: versions }, '2')
    const [view] = client.conversations
    assert.equal(view.version, 4)
    assert.equal(view.muted_until, '2030-01-01T00:00:00.000000Z')
    assert.equal(view.last_message_content, 'newer')
    assert.equal(view.unread_count, 7)
  })

  test('a reset replaces everything, also by lower versions, and keeps the outbox', async (t) => {
    const { server, client } = script(t, {}, firstPage(3, {
      conversations: [
        conversation(direct, [ann, ben], { last_seq: 3, version: 9 }),
        conversation(group, [ann, ben], { kind: 'group' }),
      ],
    }))
    const chat = await signIn(client)
    server.methods['messages.send'] = () => new Promise(() => {})
    await chat.send('unsent')
    server.pages.push(changes('r1', {
      reset: true, more: true, me: me(ann, { version: 0, full_name: 'Restored' }),
      conversations: [conversation(direct, [ann, ben], { last_seq: 2, version: 2 })],
      messages: [message(direct, 2, ben, { content: 'restored' })], limited: [direct],
    }))
    server.pages.push(changes('r2', { profiles: [profile(ben, { version: 0, full_name: 'Old Ben' })] }))
    const before = server.calls('sync.open').length
    server.push('sync.lagged', { cursor: 'x' })
    await until(server, () => server.calls('sync.open').length === before + 2, 'two pages')
    await isLive(client)
    assert.equal(client.me.full_name, 'Restored')
    assert.deepEqual(client.conversations.map(({ id }) => id), [direct])
    assert.equal(client.conversations[0].name, 'Old Ben')
    assert.deepEqual(contents(chat), ['restored', 'unsent'])
    assert.ok(chat.hasOlder)
  })

  test('an interrupted reset continues with its next page', async (t) => {
    const { server, client } = script(t)
    await signIn(client)
    let fail
    server.methods['sync.open'] = ({ cursor }) => {
      if (cursor === '1' || cursor === 'x') {
        const conversations = [conversation(group, [ann, carol], { kind: 'group' })]
        return changes('r1', { reset: true, more: true, me: me(ann), conversations })
      }
      if (!fail) {
        fail = true
        return new Promise(() => {})
      }
      return changes('r2', { profiles: [profile(carol)] })
    }
    server.push('sync.lagged', { cursor: 'x' })
    await until(server, () => fail, 'the second page')
    // What was shown stays until the reset is complete.
    assert.equal(client.conversations.length, 2)
    server.connection.end()
    await until(client, () => client.state.name === 'offline', 'offline')
    client.connect()
    await isLive(client)
    assert.equal(server.calls('sync.open').at(-1).cursor, 'r1')
    assert.deepEqual(client.conversations.map(({ id }) => id), [group])
  })

  test('a limited conversation drops the messages before the gap', async (t) => {
    const { server, client } = script(t)
    const chat = await signIn(client)
    await push(server, client, { messages: [message(direct, 9, ben), message(direct, 8, ben)], limited: [direct] }, '2')
    assert.deepEqual(contents(chat), ['message 8', 'message 9'])
    server.methods['messages.list'] = ({ before_seq }) => ({
      messages: Array.from({ length: before_seq - 1 }, (_, index) => message(direct, index + 1, ben)),
    })
    await chat.loadOlder()
    assert.deepEqual(server.calls('messages.list').map(({ before_seq }) => before_seq), [8])
    assert.deepEqual(chat.messages.map(({ seq }) => seq), [1, 2, 3, 4, 5, 6, 7, 8, 9])
  })

  test('a change of a message whose page is under way is not lost', async (t) => {
    const { server, client } = script(t)
    const chat = await signIn(client)
    await push(server, client, { messages: [message(direct, 9, ben)], limited: [direct] }, '2')
    const page = (text) => ({ messages: [message(direct, 7, ben, text), message(direct, 8, ben)] })
    server.methods['messages.list'] = async () => {
      if (server.calls('messages.list').length > 1) return page({ version: 2, content: 'edited' })
      await push(server, client, { messages: [message(direct, 7, ben, { version: 2, content: 'edited' })] }, '3')
      return page({})
    }
    await chat.loadOlder()
    assert.deepEqual(contents(chat), ['edited', 'message 8', 'message 9'])
  })

  test('numbers that the server still moves leave no gap in a page', async (t) => {
    const { server, client } = script(t)
    const chat = await signIn(client)
    await push(server, client, { messages: [message(direct, 9, ben)], limited: [direct] }, '2')
    server.methods['messages.list'] = () => ({ messages: [1, 2, 3].map((seq) => message(direct, seq, ben)) })
    await chat.loadOlder()
    assert.deepEqual(chat.messages.map(({ seq }) => seq), [1, 2, 3, 9])
    await push(server, client, { messages: [message(direct, 8, ben, { version: 2 })] }, '3')
    assert.deepEqual(chat.messages.map(({ seq }) => seq), [1, 2, 3, 8, 9])
  })

  test('sync.lagged is answered by sync.open with its cursor', async (t) => {
    const { server, client } = script(t)
    const chat = await signIn(client)
    server.pages.push(changes('8', { messages: [message(direct, 4, ben)] }))
    server.push('sync.lagged', { cursor: '7' })
    assert.equal(client.state.name, 'catching_up')
    await isLive(client)
    assert.equal(server.calls('sync.open').at(-1).cursor, '7')
    assert.equal(chat.messages.length, 4)
  })

  test('a ping renews the cursor', async (t) => {
    const { server, client } = script(t)
    await signIn(client)
    server.push('server.ping', { cursor: '42' })
    server.connection.end()
    await until(client, () => client.state.name === 'offline', 'offline')
    client.connect()
    await isLive(client)
    assert.equal(server.calls('sync.open').at(-1).cursor, '42')
  })

  test('a user who leaves sees nothing more of the conversation', async (t) => {
    const presence = [{ user_id: ben, is_online: true, last_seen_at: null }]
    const { server, client } = script(t, {}, firstPage(3, { presence }))
    const chat = await signIn(client)
    assert.equal(client.presence(ben).is_online, true)
    await push(server, client, { left: [direct] }, '2')
    assert.equal(client.conversations.length, 0)
    assert.equal(chat.conversation, null)
    assert.equal(chat.messages.length, 0)
    assert.equal(client.presence(ben), null)
    // Messages that came late do not bring it back.
    await push(server, client, { messages: [message(direct, 4, ben)] }, '3')
    assert.equal(client.conversations.length, 0)
  })

  test('presence is that of the last reset, and of users who share a conversation', async (t) => {
    const cy = 'b0000000-0000-4000-8000-000000000003'
    const online = (id) => ({ user_id: id, is_online: true, last_seen_at: null })
    const groups = (...members) => [
      conversation(group, [ann, ...members], { kind: 'group', version: 4 - members.length }),
    ]
    const { server, client } = script(t, {}, firstPage(1, {
      presence: [online(ben), online(cy)], conversations: groups(ben, cy),
    }))
    await signIn(client)
    const seen = () => [ben, cy].map((id) => client.presence(id)?.is_online)
    assert.deepEqual(seen(), [true, true])
    await push(server, client, { conversations: groups(ben) }, '2')
    assert.deepEqual(seen(), [true, undefined])
    await push(server, client, { reset: true, conversations: groups(ben, cy), presence: [online(cy)] }, '3')
    assert.deepEqual(seen(), [undefined, true])
  })

  test('a conversation has the event of its newest message', async (t) => {
    const { server, client } = script(t)
    await signIn(client)
    const event = { type: 'renamed', title: 'Choir' }
    const last = { last_seq: 4, version: 2 }
    await push(server, client, {
      conversations: [conversation(direct, [ann, ben], last)],
      messages: [message(direct, 4, ben, { kind: 'system', content: 'renamed the group', event })],
    }, '2')
    await push(server, client, { conversations: [conversation(direct, [ann, ben], { ...last, version: 3 })] }, '3')
    assert.deepEqual(client.conversations[0].last_message_event, event)
    await push(server, client, { messages: [message(direct, 5, ben)] }, '4')
    assert.equal(client.conversations[0].last_message_event, undefined)
  })

  test('a conversation has the kind of its newest message, as far as known', async (t) => {
    const { server, client } = script(t)
    const chat = await signIn(client)
    const shown = () => [chat.conversation.last_message_kind, chat.conversation.last_message_content]
    assert.deepEqual(shown(), ['text', 'message 3'])
    const photo = message(direct, 4, ben, { kind: 'image', content: '' })
    await push(server, client, { messages: [photo] }, '2')
    await push(server, client, { conversations: [conversation(direct, [ann, ben], { last_seq: 4, version: 3 })] }, '3')
    assert.equal(chat.conversation.last_message_kind, 'image')
    await push(server, client, { messages: [{ ...photo, content: null, version: 2 }] }, '4')
    assert.deepEqual(shown(), ['image', null])
    server.methods['messages.send'] = () => new Promise(() => {})
    await chat.send('', { kind: 'custom', data: { poll: [] } })
    assert.deepEqual(shown(), ['custom', ''])
    await chat.discard(chat.messages.at(-1))
    server.methods['media.create'] = () => new Promise(() => {})
    await chat.sendFiles([new Blob(['x'])])
    assert.deepEqual(shown(), ['file', ''])
    await chat.discard(chat.messages.at(-1))
    assert.deepEqual(shown(), ['image', null])
    // The device does not have that message yet.
    const later = { last_seq: 5, version: 4, last_message_content: 'later' }
    await push(server, client, { conversations: [conversation(direct, [ann, ben], later)] }, '5')
    assert.deepEqual(shown(), [undefined, 'later'])
  })

  test('a held message is shown to its sender, also as the preview, until it is decided', async (t) => {
    const { server, client } = script(t)
    const chat = await signIn(client)
    const shown = () => {
      const { content, is_held } = chat.messages.at(-1)
      return [content, is_held, chat.conversation.last_message_content]
    }
    const held = message(direct, 4, ann, { content: 'a bet', version: 2, is_held: true })
    const conversations = [conversation(direct, [ann, ben], { last_seq: 4, last_message_content: null })]
    await push(server, client, { conversations, messages: [held] }, '2')
    assert.deepEqual(shown(), ['a bet', true, 'a bet'])
    // Its conversation has no preview, and a node of an earlier version pushes what others see.
    const deleted = message(direct, 4, ann, { content: null, deleted_at: '2026-11-21T10:00:00.000000Z' })
    await push(server, client, { conversations, messages: [deleted] }, '3')
    assert.deepEqual(shown(), ['a bet', true, 'a bet'])
    await push(server, client, { messages: [message(direct, 4, ann, { content: 'a bet', version: 3 })] }, '4')
    assert.deepEqual(shown(), ['a bet', undefined, 'a bet'])
    // Others see a deleted message, which comes back.
    await push(server, client, { messages: [message(direct, 5, ben, { ...deleted, seq: 5, sender_id: ben })] }, '5')
    assert.equal(chat.messages.at(-1).content, null)
    await push(server, client, { messages: [message(direct, 5, ben, { content: 'mine too', version: 3 })] }, '6')
    assert.deepEqual([...shown(), chat.messages.at(-1).deleted_at], ['mine too', undefined, 'mine too', null])
    await push(server, client, { messages: [message(direct, 6, ann, { ...held, seq: 6 })] }, '7')
    await push(server, client, { messages: [message(direct, 6, ann, { ...deleted, seq: 6, version: 3 })] }, '8')
    assert.deepEqual(shown(), [null, undefined, null])
  })

  test('1,000 changes are one notification', async (t) => {
    const { server, client } = script(t)
    const chat = await signIn(client)
    let notifications = 0
    const last = until(chat, () => chat.messages.length === 1003, '1,003 messages')
    chat.subscribe(() => { notifications += 1 })
    const messages = Array.from({ length: 1000 }, (_, index) => message(direct, index + 4, ben))
    server.push('changes', changes('2', { messages }))
    await last
    assert.equal(notifications, 1)
  })

  test('pushes that arrive during a write are written together', async (t) => {
    const storage = countingStorage()
    const { server, client } = script(t, { storage })
    const chat = await signIn(client)
    const before = storage.writes
    for (let seq = 4; seq <= 1003; seq += 1) {
      server.push('changes', changes(String(seq), { messages: [message(direct, seq, ben)] }))
    }
    await until(chat, () => chat.messages.length === 1003, '1,003 messages')
    assert.ok(storage.writes - before <= 2, `${storage.writes - before} writes`)
  })
})

/** A storage that counts transactions. */
function countingStorage() {
  const storage = memoryStorage()
  return {
    ...storage,
    writes: 0,
    async open(name) {
      const database = await storage.open(name)
      return {
        read: (...all) => database.read(...all), erase: () => database.erase(), close: () => database.close(),
        write: (writes) => {
          this.writes += 1
          return database.write(writes)
        },
      }
    },
  }
}
