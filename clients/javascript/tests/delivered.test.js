import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { AcknowledgementThrottle } from '../src/acknowledgement-throttle.js'
import { memoryStorage } from '../src/index.js'
import { isLive, until } from './support/client.js'
import { ann, ben, connectTo, direct, firstPage, push, script, signIn } from './support/scripted-client.js'
import { conversation, message } from './support/scripted-server.js'

/** The marks of a member in the list of conversations. */
function marks(client, id) {
  const { members } = client.conversations.find((each) => each.id === direct)
  const { last_read_seq, last_delivered_seq } = members.find(({ user_id }) => user_id === id)
  return [last_read_seq, last_delivered_seq]
}

/** Ann's messages 1 to 3, as Ben's devices have them. */
function sentPage(read, delivered) {
  const marksOf = (user_id, last_read_seq, last_delivered_seq) => ({
    user_id, role: 'member', joined_at: '2026-11-20T10:00:00.000000Z', last_read_seq, last_delivered_seq,
  })
  return firstPage(3, {
    conversations: [
      conversation(direct, [ann, ben], { last_seq: 3, members: [marksOf(ann, 3, 3), marksOf(ben, read, delivered)] }),
    ],
    messages: [1, 2, 3].map((seq) => message(direct, seq, ann)),
  })
}

describe('Delivered marks', () => {
  test('a message is delivered once the others have received or read it', async (t) => {
    const { server, client } = script(t, {}, sentPage(0, 1))
    const chat = await signIn(client)
    const shown = () => chat.messages.map(({ is_delivered, is_read }) => `${is_delivered} ${is_read}`)
    assert.deepEqual(shown(), ['true false', 'false false', 'false false'])
    await push(server, client, {
      delivered: [{ conversation_id: direct, user_id: ben, last_delivered_seq: 2 }],
    }, '2')
    assert.deepEqual(shown(), ['true false', 'true false', 'false false'])
    await push(server, client, { reads: [{ conversation_id: direct, user_id: ben, last_read_seq: 3 }] }, '3')
    assert.deepEqual(shown(), ['true true', 'true true', 'true true'])
    assert.deepEqual(marks(client, ben), [3, 3])
  })

  test('marks never move back, and unknown conversations and members are ignored', async (t) => {
    const { server, client } = script(t, {}, sentPage(1, 2))
    const chat = await signIn(client)
    const [first] = chat.messages
    await push(server, client, {
      delivered: [
        { conversation_id: direct, user_id: ben, last_delivered_seq: 1 },
        { conversation_id: direct, user_id: 'd0000000-0000-4000-8000-000000000009', last_delivered_seq: 3 },
        { conversation_id: 'd0000000-0000-4000-8000-000000000008', user_id: ben, last_delivered_seq: 3 },
      ],
      conversations: sentPage(0, 0).conversations,
    }, '2')
    assert.deepEqual(marks(client, ben), [1, 2])
    assert.equal(chat.messages[0], first)
  })

  test('a server that tells no deliveries tells what was read', async (t) => {
    const { server, client } = script(t, {}, firstPage(0, { messages: [1, 2].map((seq) => message(direct, seq, ann)) }))
    const chat = await signIn(client)
    await push(server, client, { reads: [{ conversation_id: direct, user_id: ben, last_read_seq: 1 }] }, '2')
    assert.deepEqual(chat.messages.map(({ is_delivered }) => is_delivered), [true, false])
    await push(server, client, { messages: [message(direct, 3, ben)] }, '3')
    assert.deepEqual(server.calls('sync.ack'), [])
  })

  test('stored messages of others are acknowledged, also after a reconnect', async (t) => {
    const storage = memoryStorage()
    const { server, client } = script(t, { storage })
    server.features.push('delivered')
    await signIn(client)
    await until(server, () => server.calls('sync.ack').length === 1, 'the acknowledgement of the first page')
    assert.deepEqual(server.calls('sync.ack'), [{ cursor: '1' }])
    client.close()
    server.pages.push({ cursor: '5', reset: false, more: false, messages: [message(direct, 4, ben)] })
    const next = connectTo(t, server, { storage })
    await isLive(next)
    await until(server, () => server.calls('sync.ack').length === 2, 'the acknowledgement of the delta')
    assert.deepEqual(server.calls('sync.ack')[1], { cursor: '5' })
  })

  test('own messages need no acknowledgement', async (t) => {
    const { server, client } = script(t, {}, sentPage(0, 0))
    server.features.push('delivered')
    await signIn(client)
    await push(server, client, { messages: [message(direct, 4, ann)] }, '2')
    assert.deepEqual(server.calls('sync.ack'), [])
  })

  test('acknowledgements are a second apart, and the last is sent', (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    let sent = 0
    const throttle = new AcknowledgementThrottle(() => { sent += 1 })
    throttle.request()
    throttle.request()
    throttle.request()
    assert.equal(sent, 1)
    t.mock.timers.tick(1000)
    assert.equal(sent, 2)
    t.mock.timers.tick(5000)
    assert.equal(sent, 2)
    throttle.request()
    throttle.request()
    throttle.clear()
    t.mock.timers.tick(5000)
    assert.equal(sent, 3)
  })
})
