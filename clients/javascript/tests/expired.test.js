import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { until } from './support/client.js'
import { ann, ben, direct, push, script, signIn } from './support/scripted-client.js'
import { conversation, message } from './support/scripted-server.js'

/** The direct conversation after messages below a number have expired. */
const expired = (first_seq, members = {}) => conversation(direct, [ann, ben], {
  version: first_seq, last_seq: 3, first_seq, message_ttl_seconds: 60, ...members,
})

describe('Expired messages', () => {
  test('leave the chat, the device and the quotes of others', async (t) => {
    const { server, client } = script(t)
    const chat = await signIn(client)
    const reply_to = { seq: 1, sender_id: ben, kind: 'text', content: 'a secret', version: 1 }
    await push(server, client, { messages: [message(direct, 4, ann, { content: 'so', reply_to })] }, '2')
    assert.deepEqual(chat.messages.map(({ seq }) => seq), [1, 2, 3, 4])
    await push(server, client, { conversations: [expired(3, { last_seq: 4 })] }, '3')
    assert.deepEqual(chat.messages.map(({ seq }) => seq), [3, 4])
    assert.equal(chat.hasOlder, false)
    assert.deepEqual([chat.messages[1].reply_to.seq, chat.messages[1].reply_to.content], [1, null])
    assert.equal(client.conversation(direct).message_ttl_seconds, 60)

    // What comes late is not shown: a page, and the answer to a repeated send.
    await push(server, client, { messages: [message(direct, 2, ben), message(direct, 1, ben)] }, '4')
    assert.deepEqual(chat.messages.map(({ seq }) => seq), [3, 4])

    // All of them, and then a new one.
    await push(server, client, { conversations: [expired(5, { last_seq: 4, last_message_content: null })] }, '5')
    assert.deepEqual([chat.messages, chat.hasOlder], [[], false])
    assert.equal(client.conversation(direct).last_message_content, null)
    await push(server, client, { messages: [message(direct, 5, ben, { content: 'new' })] }, '6')
    assert.deepEqual(chat.messages.map(({ content }) => content), ['new'])
  })

  test('a send that is repeated after its message has expired leaves the outbox', async (t) => {
    const { server, client } = script(t)
    const chat = await signIn(client)
    await push(server, client, { conversations: [expired(4)] }, '2')
    server.methods['messages.send'] = ({ client_id }) => message(direct, 2, ann, {
      client_id, content: null, version: 2, deleted_at: '2026-01-01T00:00:00Z',
    })
    await chat.send('once')
    await until(client, () => client.pendingCount === 0, 'sent')
    assert.deepEqual(chat.messages, [])
  })
})
