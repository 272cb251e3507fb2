import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { memoryStorage } from '../src/index.js'
import { isLive, until } from './support/client.js'
import { ann, ben, connectTo, direct, firstPage, goOffline, push, script, signIn } from './support/scripted-client.js'
import { message, reactions } from './support/scripted-server.js'

const thumbs = { counts: { '👍': 2 }, own: ['👍'] }

/** Answers `messages.react` as a server whose versions begin with 2, and that nobody else uses. */
function accept(server) {
  const own = new Set()
  let version = 1
  server.methods['messages.react'] = ({ conversation_id, seq, emoji, is_set }) => {
    own[is_set ? 'add' : 'delete'](emoji)
    const counts = Object.fromEntries([...own].map((each) => [each, 1]))
    version += 1
    return reactions(conversation_id, seq, { version, counts, own: [...own] })
  }
}

describe('Reactions', () => {
  test('replaces them unless the stored version is greater, and keeps the own ones', async (t) => {
    const page = firstPage(3, { reactions: [reactions(direct, 2, { version: 3, ...thumbs })] })
    const { server, client } = script(t, {}, page)
    const chat = await signIn(client)
    const shown = () => chat.messages[1].reactions
    assert.deepEqual(shown(), thumbs)
    assert.deepEqual(chat.messages[0].reactions, { counts: {}, own: [] })
    const before = chat.messages[0]
    await push(server, client, { reactions: [reactions(direct, 2, { version: 2, counts: { '❤️': 1 } })] }, '2')
    assert.deepEqual(shown(), thumbs)
    await push(server, client, { reactions: [reactions(direct, 2, { version: 3, counts: { '👍': 3 } })] }, '3')
    assert.deepEqual(shown(), { counts: { '👍': 3 }, own: ['👍'] })
    await push(server, client, { reactions: [reactions(direct, 2, { version: 4, counts: { '❤️': 1 }, own: [] })] }, '4')
    assert.deepEqual(shown(), { counts: { '❤️': 1 }, own: [] })
    assert.equal(chat.messages[0], before)
  })

  test('an edit keeps them, and a deletion removes them', async (t) => {
    const { server, client } = script(t, {}, firstPage(3, { reactions: [reactions(direct, 2, thumbs)] }))
    const chat = await signIn(client)
    await push(server, client, { messages: [message(direct, 2, ben, { version: 2, content: 'edited' })] }, '2')
    assert.deepEqual([chat.messages[1].content, chat.messages[1].reactions], ['edited', thumbs])
    const deleted = message(direct, 2, ben, { version: 3, content: null, deleted_at: '2026-11-20T12:00:00.000000Z' })
    await push(server, client, { messages: [deleted] }, '3')
    await push(server, client, { reactions: [reactions(direct, 2, { ...thumbs, version: 9 })] }, '4')
    assert.deepEqual(chat.messages[1].reactions, { counts: {}, own: [] })
  })

  test('come with the push of their message, and with its page', async (t) => {
    const { server, client } = script(t, {}, firstPage(30))
    const chat = await signIn(client)
    await push(server, client, {
      messages: [message(direct, 31, ben)], reactions: [reactions(direct, 31, thumbs), reactions(direct, 5, thumbs)],
    }, '2')
    assert.deepEqual(chat.messages.at(-1).reactions, thumbs)
    server.methods['messages.list'] = ({ before_seq }) => ({
      messages: Array.from({ length: before_seq - 1 }, (_, index) => message(direct, index + 1, ben)),
      reactions: [reactions(direct, 7, { counts: { tada: 1 }, own: [] })],
    })
    await chat.loadFrom(7)
    const shown = chat.messages.filter((each) => Object.keys(each.reactions.counts).length).map(({ seq }) => seq)
    assert.deepEqual(shown, [7, 31])
  })

  test('reactions made offline are shown at once, and sent in order, also after a reload', async (t) => {
    const storage = memoryStorage()
    const { server, client } = script(t, { storage }, firstPage(3, {
      reactions: [reactions(direct, 2, { counts: { '👍': 1 }, own: [] })],
    }))
    const chat = await signIn(client)
    await goOffline(server, client)
    await chat.react(chat.messages[1], '👍')
    await chat.react(chat.messages[1], '❤️')
    assert.deepEqual(chat.messages[1].reactions, { counts: { '👍': 2, '❤️': 1 }, own: ['👍', '❤️'] })
    await chat.react(chat.messages[1], '👍', false)
    await client.close()

    const again = connectTo(t, server, { storage })
    const chatAgain = again.chat(direct)
    await chatAgain.load()
    assert.deepEqual(chatAgain.messages[1].reactions, { counts: { '👍': 1, '❤️': 1 }, own: ['❤️'] })
    assert.equal(again.pendingCount, 3)
    accept(server)
    server.isReachable = true
    again.connect()
    await isLive(again)
    await until(again, () => again.pendingCount === 0, 'sent')
    const sent = server.calls('messages.react').map(({ seq, emoji, is_set }) => [seq, emoji, is_set])
    assert.deepEqual(sent, [[2, '👍', true], [2, '❤️', true], [2, '👍', false]])
    assert.deepEqual(chatAgain.messages[1].reactions, { counts: { '❤️': 1 }, own: ['❤️'] })
  })

  test('a refused reaction is taken back, and blocks nothing', async (t) => {
    const { server, client } = script(t)
    const chat = await signIn(client)
    accept(server)
    const react = server.methods['messages.react']
    server.methods['messages.react'] = (params) => {
      if (params.emoji === '🚫') throw { code: 'forbidden', retryable: false }
      return react(params)
    }
    await chat.react(chat.messages[0], '🚫')
    assert.deepEqual(chat.messages[0].reactions.own, ['🚫'])
    await chat.react(chat.messages[0], '👍')
    await until(client, () => client.pendingCount === 0, 'nothing waits')
    assert.deepEqual(chat.messages[0].reactions, { counts: { '👍': 1 }, own: ['👍'] })
    assert.equal(chat.messages[0].delivery, 'sent')
    const [refused] = client.refusedChanges
    assert.deepEqual([refused.method, refused.error.code], ['messages.react', 'forbidden'])
    await client.discard(refused.change)
    assert.equal(client.refusedChanges.length, 0)
  })

  test('a message that is not sent gets none', async (t) => {
    const { server, client } = script(t)
    const chat = await signIn(client)
    server.methods['messages.send'] = () => new Promise(() => {})
    await chat.send('queued')
    await assert.rejects(chat.react(chat.messages.at(-1), '👍'), { code: 'not_found' })
    assert.deepEqual(chat.messages.at(-1).reactions, { counts: {}, own: [] })
    assert.equal(chat.messages.at(-1).sender_id, ann)
  })
})
