import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { memoryStorage } from '../src/index.js'
import { isLive, shows, until } from './support/client.js'
import { ann, ben, connectTo, direct, firstPage, goOffline, script, signIn } from './support/scripted-client.js'
import { changes, conversation, me, message } from './support/scripted-server.js'

const other = 'c0000000-0000-4000-8000-000000000002'

/** Answers `messages.send` as a server that stores the messages, from number 4 on. */
function accept(server) {
  const stored = new Map()
  server.methods['messages.send'] = ({ conversation_id, content, client_id, kind = 'text', attachment = null }) => {
    if (!stored.has(client_id)) {
      stored.set(client_id, message(conversation_id, 4 + stored.size, ann, { content, client_id, kind, attachment }))
    }
    return stored.get(client_id)
  }
  return stored
}

describe('Outbox', () => {
  test('sends in order what was written offline, also after a reload', async (t) => {
    const storage = memoryStorage()
    const { server, client } = script(t, { storage })
    const chat = await signIn(client)
    await goOffline(server, client)
    for (const content of ['one', 'two', 'three']) await chat.send(content)
    assert.deepEqual(chat.messages.slice(3).map(({ content, delivery }) => [content, delivery]),
      [['one', 'queued'], ['two', 'queued'], ['three', 'queued']])
    assert.equal(client.conversations[0].last_message_content, 'three')
    const ids = chat.messages.slice(3).map(({ id }) => id)
    await client.close()

    const stored = accept(server)
    const again = connectTo(t, server, { storage })
    const chatAgain = again.chat(direct)
    await chatAgain.load()
    assert.deepEqual(chatAgain.messages.slice(3).map(({ id }) => id), ids)
    await again.chat(direct).markRead()
    assert.deepEqual([again.pendingMessageCount, again.pendingCount], [3, 4])
    server.isReachable = true
    again.connect()
    await until(again, () => again.pendingCount === 0, 'all sent')
    assert.deepEqual([...stored.values()].map(({ content }) => content), ['one', 'two', 'three'])
    assert.deepEqual(
      chatAgain.messages.slice(3).map(({ id, delivery }) => [id, delivery]), ids.map((id) => [id, 'sent']))
  })

  test('repeats a send whose answer was lost with the same client_id', async (t) => {
    const { server, client } = script(t)
    const chat = await signIn(client)
    const stored = accept(server)
    const store = server.methods['messages.send']
    server.methods['messages.send'] = (params) => {
      store(params)
      server.connection.end()
      server.methods['messages.send'] = store
      return new Promise(() => {})
    }
    await chat.send('once')
    await until(client, () => client.state.name === 'offline', 'offline')
    client.connect()
    await shows(chat, 'once', 'sent')
    assert.equal(server.calls('messages.send').length, 2)
    assert.equal(stored.size, 1)
    assert.equal(chat.messages.length, 4)
  })

  test('a refused message is shown, and blocks nothing', async (t) => {
    const { server, client } = script(t)
    const chat = await signIn(client)
    accept(server)
    const send = server.methods['messages.send']
    server.methods['messages.send'] = (params) => {
      if (params.content === 'bad') throw { code: 'invalid_params', field: 'content', retryable: false }
      return send(params)
    }
    await chat.send('bad')
    await chat.send('good')
    await shows(chat, 'good', 'sent')
    const refused = await shows(chat, 'bad', 'refused')
    assert.equal(refused.error.code, 'invalid_params')
    assert.deepEqual(client.refusedChanges.map(({ method, content, error }) => [method, content, error.field]),
      [['messages.send', 'bad', 'content']])
    assert.equal(client.pendingCount, 0)

    server.methods['messages.send'] = send
    await chat.retry(refused)
    await shows(chat, 'bad', 'sent')
    assert.equal(client.refusedChanges.length, 0)
  })

  test('a change that is too long for a line is refused, and blocks nothing', async (t) => {
    const { server, client } = script(t)
    const chat = await signIn(client)
    accept(server)
    const send = (characters) => chat.send('', { attachment: { url: `https://example.com/${characters}` } })
    // Two units of a text each, and four bytes.
    await send('😀'.repeat(16_400))
    await client.updateProfile({ bio: 'ä'.repeat(33_000) })
    await chat.send('good')
    await shows(chat, 'good', 'sent')
    await until(client, () => client.pendingCount === 0, 'nothing waits')
    assert.deepEqual(client.refusedChanges.map(({ error }) => error.code), ['line_too_long', 'line_too_long'])
    assert.equal(server.connections.length, 1)
    await send('😀'.repeat(16_000))
    await until(client, () => client.pendingCount === 0, 'sent')
    assert.equal(client.refusedChanges.length, 2)
  })

  test('a refused message is discarded', async (t) => {
    const { server, client } = script(t)
    const chat = await signIn(client)
    server.methods['messages.send'] = () => { throw { code: 'not_found', retryable: false } }
    await chat.send('lost')
    await chat.discard(await shows(chat, 'lost', 'refused'))
    assert.equal(chat.messages.length, 3)
    assert.equal(client.refusedChanges.length, 0)
  })

  test('a refused message is edited, and sent as edited', async (t) => {
    const { server, client } = script(t)
    const chat = await signIn(client)
    const stored = accept(server)
    const send = server.methods['messages.send']
    server.methods['messages.send'] = () => { throw { code: 'invalid_params', field: 'content', retryable: false } }
    const id = await chat.send('bad', { data: { a: 1 } })
    const refused = await shows(chat, 'bad', 'refused')
    server.methods['messages.send'] = send
    await chat.edit(refused, 'good', { mentions: [ben] })
    const sent = await shows(chat, 'good', 'sent')
    assert.deepEqual([sent.id, stored.size, client.refusedChanges.length], [id, 1, 0])
    const { content, mentions, data } = server.calls('messages.send').at(-1)
    assert.deepEqual([content, mentions, data], ['good', [ben], { a: 1 }])
  })

  test('a message that was written offline is edited until it is sent, also after a reload', async (t) => {
    const storage = memoryStorage()
    const { server, client } = script(t, { storage })
    const chat = await signIn(client)
    await goOffline(server, client)
    await chat.send('Helo')
    await chat.edit(await shows(chat, 'Helo', 'queued'), 'Hallo')
    assert.equal(client.conversations[0].last_message_content, 'Hallo')
    await assert.rejects(chat.edit(chat.messages.at(-1), ''), { code: 'invalid_params', field: 'content' })
    await client.close()

    const again = connectTo(t, server, { storage })
    const chatAgain = again.chat(direct)
    // It needs no connection, nor one that is being opened.
    again.disconnect()
    await chatAgain.load()
    await chatAgain.edit(await shows(chatAgain, 'Hallo', 'queued'), 'Hello')
    const stored = accept(server)
    server.isReachable = true
    again.connect()
    await shows(chatAgain, 'Hello', 'sent')
    assert.deepEqual([...stored.values()].map(({ content }) => content), ['Hello'])
    assert.equal(server.calls('messages.edit').length, 0)
  })

  test('a message that is being sent, or may have been, is not edited', async (t) => {
    const storage = memoryStorage()
    const { server, client } = script(t, { storage })
    const chat = await signIn(client)
    server.methods['messages.send'] = () => new Promise(() => {})
    await chat.send('in flight')
    await until(server, () => server.calls('messages.send').length === 1, 'the request')
    await assert.rejects(chat.edit(chat.messages.at(-1), 'changed'), { code: 'not_found' })
    await goOffline(server, client)
    await assert.rejects(chat.edit(chat.messages.at(-1), 'changed'), { code: 'not_found' })
    await chat.send('written offline')
    server.isReachable = true
    client.connect()
    await until(server, () => server.calls('messages.send').length === 2, 'the first again')
    const { content } = server.calls('messages.send').at(-1)
    assert.equal(content, 'in flight')
    // The second one waits for the first, so the server cannot have it.
    await chat.edit(chat.messages.at(-1), 'edited')
    accept(server)
    server.connection.end()
    await until(client, () => client.state.name === 'offline', 'offline')
    client.connect()
    await shows(chat, 'edited', 'sent')
    assert.equal(chat.messages.at(-2).content, 'in flight')
  })

  test('a message with a file that is being uploaded is not edited', async (t) => {
    const { server, client } = script(t)
    const chat = await signIn(client)
    await goOffline(server, client)
    await chat.sendFiles([new File(['text'], 'note.txt', { type: 'text/plain' })], { content: 'Helo' })
    await chat.edit(await shows(chat, 'Helo', 'queued'), 'Hello')
    server.methods['media.create'] = () => new Promise(() => {})
    server.isReachable = true
    client.connect()
    await until(server, () => server.calls('media.create').length === 1, 'the upload')
    await assert.rejects(chat.edit(await shows(chat, 'Hello', 'queued'), 'changed'), { code: 'not_found' })
  })

  test('a refused edit shows the content that the server has', async (t) => {
    const { server, client } = script(t, {}, firstPage(3, { messages: [message(direct, 3, ann)] }))
    const chat = await signIn(client)
    server.methods['messages.edit'] = () => { throw { code: 'forbidden', retryable: false } }
    await chat.edit(chat.messages[0], 'changed')
    assert.equal(chat.messages[0].content, 'changed')
    const refused = await shows(chat, 'message 3', 'refused')
    assert.equal(refused.error.code, 'forbidden')
  })

  test('waits for retry_after, and tries again', async (t) => {
    const { server, client } = script(t)
    const chat = await signIn(client)
    accept(server)
    const send = server.methods['messages.send']
    let times = 0
    server.methods['messages.send'] = (params) => {
      times += 1
      if (times === 1) throw { code: 'rate_limited', retryable: true, retry_after: 0.01 }
      return send(params)
    }
    await chat.send('patient')
    await shows(chat, 'patient', 'sent')
    assert.equal(times, 2)
  })

  test('a queue does not wait for that of another conversation', async (t) => {
    const { server, client } = script(t, {}, firstPage(3, {
      conversations: [
        conversation(direct, [ann, ben], { last_seq: 3 }),
        conversation(other, [ann, ben], { kind: 'group', last_seq: 3 }),
      ],
    }))
    const chat = await signIn(client)
    const otherChat = client.chat(other)
    accept(server)
    const send = server.methods['messages.send']
    server.methods['messages.send'] = (params) => {
      return params.conversation_id === direct ? new Promise(() => {}) : send(params)
    }
    await chat.send('stuck')
    await otherChat.send('through')
    await shows(otherChat, 'through', 'sent')
    assert.equal(chat.messages.at(-1).delivery, 'queued')
  })

  test('a response that is ahead of the sync shows no gap', async (t) => {
    const { server, client } = script(t)
    const chat = await signIn(client)
    server.methods['messages.send'] = ({ content, client_id }) => message(direct, 5, ann, { content, client_id })
    await chat.send('fifth')
    await client.refresh()
    assert.deepEqual(chat.messages.map(({ seq }) => seq), [1, 2, 3, null])
    const [{ client_id }] = server.calls('messages.send')
    const messages = [message(direct, 4, ben), message(direct, 5, ann, { content: 'fifth', client_id })]
    server.push('changes', changes('2', { messages }))
    await shows(chat, 'fifth', 'sent')
    assert.deepEqual(chat.messages.map(({ seq }) => seq), [1, 2, 3, 4, 5])
    assert.equal(server.calls('messages.send').length, 1)
  })

  test('read marks are joined, and never go back', async (t) => {
    const { server, client } = script(t)
    const chat = await signIn(client)
    let answer
    server.methods['messages.mark_read'] = ({ seq }) => new Promise((resolve) => {
      answer = () => resolve({ conversation_id: direct, user_id: ann, last_read_seq: seq, unread_count: 3 - seq })
    })
    await chat.markRead(chat.messages[1])
    assert.equal(chat.conversation.unread_count, 1)
    await chat.markRead(chat.messages[0])
    await chat.markRead()
    assert.equal(chat.conversation.unread_count, 0)
    await until(server, () => answer, 'the first mark')
    answer()
    await until(server, () => server.calls('messages.mark_read').length === 2, 'the second mark')
    answer()
    await until(client, () => client.pendingCount === 0, 'sent')
    assert.deepEqual(server.calls('messages.mark_read').map(({ seq }) => seq), [2, 3])
    assert.equal(chat.conversation.last_read_seq, 3)
  })

  test('edits of the own data are shown at once', async (t) => {
    const { server, client } = script(t)
    await signIn(client)
    let answer
    server.methods['me.save'] = (params) => new Promise((resolve) => {
      answer = () => resolve(me(ann, { ...params, version: 2, preferences: { theme: 'dark' } }))
    })
    await client.updateProfile({ full_name: 'Anna', preferences: { theme: 'dark' } })
    assert.equal(client.me.full_name, 'Anna')
    assert.deepEqual(client.me.preferences, { theme: 'dark' })
    await until(server, () => answer, 'me.save')
    answer()
    await until(client, () => client.pendingCount === 0, 'saved')
    assert.equal(client.me.full_name, 'Anna')
    assert.equal(client.me.version, 2)
  })

  test('drafts stay on the device', async (t) => {
    const storage = memoryStorage()
    const { server, client } = script(t, { storage })
    const chat = await signIn(client)
    await chat.setDraft('Dear Ben')
    assert.equal(client.conversations[0].draft, 'Dear Ben')
    await client.close()
    const again = connectTo(t, server, { storage })
    await isLive(again)
    assert.equal(again.chat(direct).draft, 'Dear Ben')
    await again.chat(direct).send('Dear Ben, hello')
    assert.equal(again.chat(direct).draft, '')
  })

  test('a draft that is removed at once is not stored', async (t) => {
    const { client } = script(t)
    const chat = await signIn(client)
    await Promise.all([chat.setDraft('H'), chat.setDraft('')])
    assert.equal(chat.draft, '')
  })

  test('a storage that cannot be written refuses the send', async (t) => {
    const storage = memoryStorage()
    let isFull = false
    const full = {
      ...storage,
      async open(name) {
        const database = await storage.open(name)
        return {
          read: (...all) => database.read(...all), erase: () => database.erase(), close: () => database.close(),
          write: (writes) => (isFull ? Promise.reject(new Error('full')) : database.write(writes)),
        }
      },
    }
    const { client } = script(t, { storage: full })
    const chat = await signIn(client)
    isFull = true
    await assert.rejects(chat.send('lost'), { code: 'store_unusable' })
    assert.equal(client.storeError.code, 'store_unusable')
    assert.equal(chat.messages.length, 3)
    isFull = false
  })
})
