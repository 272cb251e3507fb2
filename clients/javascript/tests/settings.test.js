import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { fileStorage } from '../node.js'
import { memoryStorage } from '../src/index.js'
import { isLive, shows, until } from './support/client.js'
import { makeOlder } from './support/older-records.js'
import { ann, ben, connectTo, direct, firstPage, goOffline, push, script, signIn } from './support/scripted-client.js'
import { changes, conversation, message, reactions } from './support/scripted-server.js'

describe('A member\'s settings', () => {
  const settings = ({ is_marked_unread, is_archived, is_pinned }) => [is_marked_unread, is_archived, is_pinned]

  test('are shown at once and sent', async (t) => {
    const { server, client } = script(t)
    await signIn(client)
    let stored = { is_marked_unread: false, is_archived: false, is_pinned: false }
    server.methods['conversations.set'] = ({ conversation_id, ...set }) => {
      stored = { ...stored, ...set }
      return conversation(conversation_id, [ann, ben], { last_seq: 3, ...stored })
    }
    await goOffline(server, client)
    await client.setConversation(direct, { is_marked_unread: true, is_archived: true })
    await client.setConversation(direct, { is_archived: false, is_pinned: true, is_marked_unread: undefined })
    assert.deepEqual(settings(client.conversations[0]), [true, false, true])
    server.isReachable = true
    client.connect()
    await isLive(client)
    await until(client, () => client.pendingCount === 0, 'sent')
    assert.deepEqual(settings(client.conversations[0]), [true, false, true])
    assert.deepEqual(server.calls('conversations.set').at(-1), {
      conversation_id: direct, is_archived: false, is_pinned: true,
    })
    await assert.rejects(
      client.setConversation(direct, { isPinned: true }), { code: 'invalid_params', field: 'isPinned' })
  })

  test('refused ones are taken back', async (t) => {
    const { server, client } = script(t)
    await signIn(client)
    server.methods['conversations.set'] = () => { throw { code: 'not_found', retryable: false } }
    await client.setConversation(direct, { is_archived: true })
    await until(client, () => client.refusedChanges.length, 'refused')
    assert.deepEqual(settings(client.conversations[0]), [false, false, false])
    assert.equal(client.refusedChanges[0].method, 'conversations.set')
  })

  test('reading or sending ends that a conversation is marked unread', async (t) => {
    const { server, client } = script(t)
    const chat = await signIn(client)
    const mark = async (cursor) => {
      const { last_seq, last_read_seq } = chat.conversation
      const marked = conversation(direct, [ann, ben], { last_seq, last_read_seq, is_marked_unread: true })
      await push(server, client, { conversations: [marked] }, cursor)
      assert.equal(chat.conversation.is_marked_unread, true)
    }
    await mark('2')
    await push(server, client, { reads: [{ conversation_id: direct, user_id: ben, last_read_seq: 3 }] }, '3')
    assert.equal(chat.conversation.is_marked_unread, true)
    await push(server, client, { reads: [{ conversation_id: direct, user_id: ann, last_read_seq: 3 }] }, '4')
    assert.equal(chat.conversation.is_marked_unread, false)
    // With everything read there is no mark to move.
    await mark('5')
    server.methods['conversations.set'] = () => new Promise(() => {})
    await chat.markRead()
    assert.equal(chat.conversation.is_marked_unread, false)
    const [{ is_marked_unread }] = server.calls('conversations.set')
    assert.equal(is_marked_unread, false)
    await chat.send('hello')
    assert.equal(chat.conversation.is_marked_unread, false)
  })

  test('a message of the user ends it too', async (t) => {
    const marked = conversation(direct, [ann, ben], { last_seq: 3, is_marked_unread: true })
    const { server, client } = script(t, {}, firstPage(3, { conversations: [marked] }))
    const chat = await signIn(client)
    await push(server, client, { messages: [message(direct, 4, ann)] }, '2')
    assert.equal(chat.conversation.is_marked_unread, false)
  })
})

describe('Pins', () => {
  test('are shown at once, the last one first, and taken back if they are refused', async (t) => {
    const { server, client } = script(t)
    const chat = await signIn(client)
    let refuse
    server.methods['messages.pin'] = ({ seq }) => {
      if (seq === 3) {
        return new Promise((_, reject) => { refuse = () => reject({ code: 'forbidden', retryable: false }) })
      }
      return conversation(direct, [ann, ben], { last_seq: 3, version: 2, pinned_seqs: [seq] })
    }
    await chat.pin(chat.messages[0])
    await until(client, () => client.pendingCount === 0, 'sent')
    assert.deepEqual(chat.conversation.pinned_seqs, [1])
    await chat.pin(chat.messages[2])
    assert.deepEqual(chat.conversation.pinned_seqs, [3, 1])
    await chat.pin({ seq: 1 }, false)
    assert.deepEqual(chat.conversation.pinned_seqs, [3])
    await until(server, () => refuse, 'the request')
    server.methods['messages.pin'] = () => new Promise(() => {})
    refuse()
    await until(chat, () => chat.conversation.pinned_seqs.length === 0, 'taken back')
    assert.equal(client.refusedChanges[0].method, 'messages.pin')
  })
})

describe('Records of an older client', () => {
  const folder = mkdtempSync(join(tmpdir(), 'postline-older-'))
  const storages = { memoryStorage: () => memoryStorage(), fileStorage: () => fileStorage(folder) }
  for (const [name, make] of Object.entries(storages)) {
    test(`open with ${name}, and get the new members by a reset after the changes`, async (t) => {
      t.after(() => rmSync(folder, { recursive: true, force: true }))
      const storage = make()
      const { server, client } = script(t, { storage })
      await signIn(client)
      await client.close()
      await makeOlder(storage, ann)

      server.isReachable = false
      const again = connectTo(t, server, { storage })
      const heard = []
      again.onMessage(({ content }) => heard.push(content))
      const chat = again.chat(direct)
      await chat.load()
      const { unread_mentions, is_pinned, pinned_seqs, data } = chat.conversation
      assert.deepEqual([unread_mentions, is_pinned, pinned_seqs, data], [0, false, [], null])
      const [{ reply_to, mentions, reactions: none }] = chat.messages
      assert.deepEqual([reply_to, mentions, none], [null, [], { counts: {}, own: [] }])

      server.pages.push(changes('2', { messages: [message(direct, 4, ben)] }), firstPage(4, {
        cursor: '3', reactions: [reactions(direct, 2, { counts: { '👍': 1 }, own: [] })],
        conversations: [conversation(direct, [ann, ben], { last_seq: 4, is_pinned: true })],
      }))
      server.isReachable = true
      again.connect()
      await isLive(again)
      await shows(chat, 'message 4')
      assert.deepEqual(server.calls('sync.open').slice(-2).map(({ cursor }) => cursor), ['1', undefined])
      assert.deepEqual(heard, ['message 4'])
      assert.equal(chat.conversation.is_pinned, true)
      assert.deepEqual(chat.messages[1].reactions.counts, { '👍': 1 })
      await again.close()
      // Once only.
      const third = connectTo(t, server, { storage })
      await isLive(third)
      assert.equal(server.calls('sync.open').at(-1).cursor, '3')
      assert.equal(server.calls('sync.open').length, 4)
      await third.close()
    })
  }
})
