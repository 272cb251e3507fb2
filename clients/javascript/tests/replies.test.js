import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { shows, until } from './support/client.js'
import { ann, ben, direct, firstPage, push, script, signIn } from './support/scripted-client.js'
import { conversation, message } from './support/scripted-server.js'

const preview = (seq, members = {}) => ({
  seq, sender_id: ben, kind: 'text', content: `message ${seq}`, version: 1, ...members,
})

/** The preview as a chat shows it. */
const quote = (seq, members) => ({ ...preview(seq, members), is_blocked: false })

describe('Replies', () => {
  test('an edit or deletion of the quoted message replaces the preview', async (t) => {
    const { server, client } = script(t, {}, firstPage(3, {
      messages: [message(direct, 3, ben, { reply_to: preview(1) }), message(direct, 2, ben)],
    }))
    const chat = await signIn(client)
    const edit = message(direct, 1, ben, { version: 2, content: '😀'.repeat(150) })
    await push(server, client, { messages: [edit] }, '2')
    assert.deepEqual(chat.messages[1].reply_to, quote(1, { version: 2, content: '😀'.repeat(100) }))
    const deleted = message(direct, 1, ben, { version: 3, content: null, deleted_at: '2026-11-20T12:00:00.000000Z' })
    await push(server, client, { messages: [deleted] }, '3')
    assert.deepEqual(chat.messages[1].reply_to, quote(1, { version: 3, content: null }))
    // An older state of the preview, as in an answer that was overtaken.
    await push(server, client, { messages: [message(direct, 3, ben, { version: 2, reply_to: preview(1) })] }, '4')
    await chat.loadFrom(1)
    assert.deepEqual(chat.messages[2].reply_to, quote(1, { version: 3, content: null }))
  })

  test('an edit replaces the preview of a message that is below those of the device', async (t) => {
    const { server, client } = script(t, {}, firstPage(30, {
      messages: [message(direct, 30, ben, { reply_to: preview(4) }), message(direct, 29, ben)],
    }))
    const chat = await signIn(client)
    await push(server, client, { messages: [message(direct, 4, ben, { version: 2, content: 'edited' })] }, '2')
    assert.deepEqual(chat.messages.map(({ seq }) => seq), [29, 30])
    assert.deepEqual(chat.messages[1].reply_to, quote(4, { version: 2, content: 'edited' }))
  })

  test('a reply and an edit of what it quotes that arrive together agree', async (t) => {
    const { server, client } = script(t)
    const chat = await signIn(client)
    await push(server, client, {
      messages: [
        message(direct, 4, ben, { reply_to: preview(2) }), message(direct, 2, ben, { version: 2, content: 'edited' }),
      ],
    }, '2')
    assert.equal(chat.messages[3].reply_to.content, 'edited')
  })

  test('a queued reply shows its quote, mentions and data', async (t) => {
    const { server, client } = script(t)
    const chat = await signIn(client)
    let answer
    server.methods['messages.send'] = (params) => new Promise((resolve) => {
      const { content, client_id, kind = 'text', mentions = [], data = null, reply_to_seq } = params
      const reply_to = reply_to_seq ? preview(reply_to_seq) : null
      answer = () => resolve(message(direct, 4, ann, { content, client_id, kind, mentions, data, reply_to }))
    })
    const data = { poll: ['a', 'b'] }
    await chat.send('', { kind: 'custom', data, reply_to_seq: 2, mentions: [ben] })
    const shown = ({ kind, reply_to, mentions, data }) => ({ kind, reply_to, mentions, data })
    const expected = { kind: 'custom', reply_to: quote(2), mentions: [ben], data }
    assert.deepEqual(shown(chat.messages[3]), expected)
    await until(server, () => answer, 'the send')
    answer()
    await shows(chat, '', 'sent')
    assert.deepEqual(shown(chat.messages[3]), expected)
    await chat.send('of an unknown message', { reply_to_seq: 99 })
    const unknown = { seq: 99, sender_id: null, kind: null, content: null, version: 0, is_blocked: false }
    assert.deepEqual(chat.messages.at(-1).reply_to, unknown)
  })

  test('a queued edit shows its mentions and data, and a deletion none', async (t) => {
    const own = message(direct, 3, ann, { mentions: [ben], data: { a: 1 } })
    const { server, client } = script(t, {}, firstPage(3, { messages: [own] }))
    const chat = await signIn(client)
    server.methods['messages.edit'] = server.methods['messages.delete'] = () => new Promise(() => {})
    const shown = () => [chat.messages[0].content, chat.messages[0].mentions, chat.messages[0].data]
    await chat.edit(chat.messages[0], 'edited')
    assert.deepEqual(shown(), ['edited', [ben], { a: 1 }])
    await chat.edit(chat.messages[0], 'again', { mentions: [], data: null })
    assert.deepEqual(shown(), ['again', [], null])
    await chat.edit(chat.messages[0], 'third')
    await chat.delete(chat.messages[0])
    assert.deepEqual(shown(), [null, [], null])
  })
})

describe('Mentions', () => {
  test('new ones of others are counted, until they are read', async (t) => {
    const { server, client } = script(t)
    const chat = await signIn(client)
    const count = () => chat.conversation.unread_mentions
    await push(server, client, {
      messages: [
        message(direct, 4, ben, { mentions: [ann] }), message(direct, 5, ben, { mentions_everyone: true }),
        message(direct, 6, ben, { mentions: [ben] }), message(direct, 7, ben),
      ],
    }, '2')
    assert.equal(count(), 2)
    // Neither older messages nor the same ones count again, nor does an edit.
    await push(server, client, { messages: [message(direct, 4, ben, { mentions: [ann], version: 2 })] }, '3')
    assert.equal(count(), 2)
    await push(server, client, { reads: [{ conversation_id: direct, user_id: ann, last_read_seq: 6 }] }, '4')
    assert.equal(count(), 2)
    await push(server, client, { reads: [{ conversation_id: direct, user_id: ann, last_read_seq: 7 }] }, '5')
    assert.equal(count(), 0)
    await push(server, client, { messages: [message(direct, 8, ben, { mentions: [ann] })] }, '6')
    assert.equal(count(), 1)
    server.methods['messages.mark_read'] = () => new Promise(() => {})
    await chat.markRead()
    assert.equal(count(), 0)
    await push(server, client, { messages: [message(direct, 9, ann, { mentions_everyone: true })] }, '7')
    assert.equal(count(), 0)
  })

  test('a message of the user from another device has read those before it', async (t) => {
    const { server, client } = script(t)
    const chat = await signIn(client)
    const count = () => chat.conversation.unread_mentions
    await push(server, client, { messages: [message(direct, 4, ben, { mentions: [ann] })] }, '2')
    assert.equal(count(), 1)
    await push(server, client, {
      messages: [message(direct, 5, ann), message(direct, 6, ben), message(direct, 7, ben, { mentions: [ann] })],
      reads: [{ conversation_id: direct, user_id: ann, last_read_seq: 5 }],
    }, '3')
    assert.equal(count(), 1)
    await push(server, client, { messages: [message(direct, 9, ben), message(direct, 8, ann)] }, '4')
    assert.equal(count(), 0)
  })

  test('the number belongs to the greater mark and the greater last message', async (t) => {
    const { server, client } = script(t)
    await signIn(client)
    const versions = [
      conversation(direct, [ann, ben], { last_seq: 5, unread_mentions: 2, version: 2 }),
      conversation(direct, [ann, ben], { last_seq: 4, unread_mentions: 1, version: 3 }),
    ]
    await push(server, client, { conversations: versions }, '2')
    assert.equal(client.conversations[0].unread_mentions, 2)
    const read = conversation(direct, [ann, ben], { last_seq: 5, last_read_seq: 5, version: 1 })
    await push(server, client, { conversations: [read] }, '3')
    assert.equal(client.conversations[0].unread_mentions, 0)
  })
})
