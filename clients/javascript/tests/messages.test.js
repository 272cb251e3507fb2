import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { PostlineClient, PostlineError } from '../src/index.js'
import { isLive, makeClient, makeConversation, makeUser, password, shows, until } from './support/client.js'
import { startDevWorld } from './support/dev-world.js'

describe('Messages', () => {
  let world
  before(async () => { world = await startDevWorld() })
  after(() => world.stop())

  test('a user signs in and sees its conversations', async (t) => {
    const alice = makeClient(t, world.url)
    await alice.ready
    assert.equal(alice.state.name, 'signed_out')
    await alice.signIn({ email: 'alice@example.com', password })
    await isLive(alice)
    assert.equal(alice.me.username, 'alice')
    assert.ok(alice.conversations.length > 1)
    assert.ok(alice.conversations.some(({ name }) => name?.startsWith('Bob')))
  })

  test('a message is shown when it is queued, sent and read', async (t) => {
    const [ann, ben] = await Promise.all([makeUser(t, world.url, 'Ann'), makeUser(t, world.url, 'Ben')])
    const [annChat, benChat] = await makeConversation(ann, ben)
    const id = await annChat.send('Hello')
    assert.equal(annChat.messages.at(-1).id, id)
    assert.equal(annChat.conversation.last_message_content, 'Hello')
    const sent = await shows(annChat, 'Hello', 'sent')
    assert.equal(sent.id, id)
    assert.equal(ann.pendingCount, 0)
    const received = await shows(benChat, 'Hello')
    assert.equal(received.sender.full_name, 'Ann')
    assert.equal(benChat.conversation.unread_count, 1)
    assert.equal(ben.unreadCount, 1)
    await benChat.markRead()
    assert.equal(ben.unreadCount, 0)
    await until(annChat, () => annChat.messages.at(-1).is_read, 'read')
  })

  test('a message and a user are reported, and oneself is not', async (t) => {
    const [ann, ben] = await Promise.all([makeUser(t, world.url, 'Ann'), makeUser(t, world.url, 'Ben')])
    const [annChat, benChat] = await makeConversation(ann, ben)
    await benChat.send('An insult')
    const insult = await shows(annChat, 'An insult')
    await ann.report(insult, 'abuse', 'He is rude.')
    await ann.report(ben.me.id, 'spam')
    await assert.rejects(ann.report(ann.me.id, 'spam'), { code: 'forbidden' })
    await assert.rejects(ann.report(ben.me.id, 'rude'), { code: 'invalid_params', field: 'reason' })
    assert.equal(ann.hello.contact, null)
  })

  test('edits and deletions reach the other user', async (t) => {
    const [ann, ben] = await Promise.all([makeUser(t, world.url, 'Ann'), makeUser(t, world.url, 'Ben')])
    const [annChat, benChat] = await makeConversation(ann, ben)
    await annChat.send('Helo')
    await annChat.edit(await shows(annChat, 'Helo', 'sent'), 'Hello')
    assert.equal(annChat.messages.at(-1).content, 'Hello')
    await shows(benChat, 'Hello')
    await annChat.delete(await shows(annChat, 'Hello', 'sent'))
    const deleted = await until(benChat, () => benChat.messages.find((message) => message.deleted_at), 'deleted')
    assert.equal(deleted.content, null)
  })

  test('an action on a message that was sent since takes the sent one', async (t) => {
    const [ann, ben] = await Promise.all([makeUser(t, world.url, 'Ann'), makeUser(t, world.url, 'Ben')])
    const [annChat, benChat] = await makeConversation(ann, ben)
    await annChat.send('Helo')
    const queued = annChat.messages.at(-1)
    assert.equal(queued.seq, null)
    await shows(annChat, 'Helo', 'sent')
    await annChat.edit(queued, 'Hello')
    await annChat.react(queued, '👍')
    await annChat.pin(queued)
    await until(benChat, () => {
      const { content, reactions } = benChat.messages.at(-1) ?? {}
      return content === 'Hello' && reactions.counts['👍'] === 1 && benChat.conversation.pinned_seqs.length === 1
    }, 'the edit, the reaction and the pin')
    await annChat.delete(queued)
    await until(benChat, () => benChat.messages.at(-1).deleted_at, 'deleted')
  })

  test('a scheduled message is listed, sent at its time, or removed', async (t) => {
    const [ann, ben] = await Promise.all([makeUser(t, world.url, 'Ann'), makeUser(t, world.url, 'Ben')])
    const [annChat, benChat] = await makeConversation(ann, ben)
    const soon = () => new Date(Date.now() + 1500)
    const never = await ann.schedule(annChat.id, 'Never', soon())
    await until(annChat, () => annChat.conversation.scheduled_count === 1, 'one scheduled message')
    assert.deepEqual(await ann.scheduled(annChat.id), [never])
    assert.deepEqual(await ben.scheduled(), [])
    await ann.unschedule(never)
    await ann.schedule(annChat.id, 'Later', soon(), { data: { a: 1 } })
    const sent = await shows(benChat, 'Later')
    assert.deepEqual(sent.data, { a: 1 })
    await until(annChat, () => annChat.conversation.scheduled_count === 0, 'no scheduled message')
    assert.ok(benChat.messages.every(({ content }) => content !== 'Never'))
    await assert.rejects(ann.schedule(annChat.id, 'x', 'tomorrow'), { code: 'invalid_params', field: 'dueAt' })
    await assert.rejects(ann.schedule(annChat.id, 'x', new Date(0)), { code: 'invalid_params', field: 'due_at' })
  })

  test('mistakes of the app are errors of its calls, and queue nothing', async (t) => {
    const [ann, ben] = await Promise.all([makeUser(t, world.url, 'Ann'), makeUser(t, world.url, 'Ben')])
    const [chat] = await makeConversation(ann, ben)
    await chat.send('Hello')
    const sent = await shows(chat, 'Hello', 'sent')
    const mistakes = [
      [() => chat.send(''), 'content'], [() => chat.send(5), 'content'],
      [() => chat.send('x'.repeat(8001)), 'content'], [() => chat.send('😀'.repeat(8001)), 'content'],
      [() => chat.send('x', { mentions: Array(51).fill(ben.account.id) }), 'mentions'],
      [() => chat.send('x', { mentions: ben.account.id }), 'mentions'],
      [() => chat.send('x', { mentions: [ben.account.id, '@ben'] }), 'mentions[1]'],
      [() => chat.send('x', { data: { text: 'ä'.repeat(2045) } }), 'data'],
      [() => chat.send('x', { data: 'text' }), 'data'], [() => chat.send('x', { data: [] }), 'data'],
      [() => chat.sendFiles([new Blob(['x'])], { content: 'x'.repeat(8001) }), 'content'],
      [() => ann.schedule(chat.id, 'x'.repeat(8001), new Date(Date.now() + 60_000)), 'content'],
      [() => chat.send('x', { replyTo: 1 }), 'replyTo'], [() => chat.send('x', { reply_to_seq: '1' }), 'reply_to_seq'],
      [() => chat.send('', { attachments: [] }), 'attachments'],
      [() => chat.sendFiles([new Blob(['x'])], { attachments: [] }), 'attachments'],
      [() => chat.edit(sent, null), 'content'], [() => chat.edit(sent, ''), 'content'],
      [() => chat.edit(sent, 'x'.repeat(8001)), 'content'],
      [() => chat.edit(sent, 'x', { mentions: Array(51).fill(ben.account.id) }), 'mentions'],
      [() => chat.edit(sent, 'x', { data: { text: 'x'.repeat(4096) } }), 'data'],
      [() => chat.edit(sent, 'x', { kind: 'image' }), 'kind'], [() => chat.edit(undefined, 'x'), 'message'],
      [() => chat.react(undefined, '👍'), 'message'], [() => chat.pin({}), 'message'],
      [() => chat.delete(undefined), 'message'], [async () => ann.chat('Ben'), 'conversationID'],
      [async () => new PostlineClient({ url: 'banana', WebSocket: class {} }), 'url'],
    ]
    for (const [call, field] of mistakes) {
      await assert.rejects(call, (error) => {
        assert.ok(error instanceof PostlineError, String(error))
        return error.code === 'invalid_params' && error.field === field
      })
    }
    assert.equal(ann.pendingCount + ann.refusedChanges.length, 0)
    assert.equal(chat.messages.length, 1)
  })

  test('what has the size of the bounds is accepted', async (t) => {
    const [ann, ben] = await Promise.all([makeUser(t, world.url, 'Ann'), makeUser(t, world.url, 'Ben')])
    const [chat] = await makeConversation(ann, ben)
    const content = '😀'.repeat(8000)
    // With the braces, the name and the quotes 4,096 bytes.
    const data = { text: `${'ä'.repeat(2042)}x` }
    await chat.send(content, { mentions: Array(50).fill(ben.account.id), data })
    const sent = await shows(chat, content, 'sent')
    await chat.edit(sent, 'Hello', { data: null, mentions: [] })
    await until(ann, () => ann.pendingCount === 0, 'sent')
    assert.equal(ann.refusedChanges.length, 0)
    assert.equal(chat.messages[0].content, 'Hello')
  })

  test('replies, mentions and data reach the other user', async (t) => {
    const [ann, ben] = await Promise.all([makeUser(t, world.url, 'Ann'), makeUser(t, world.url, 'Ben')])
    const [annChat, benChat] = await makeConversation(ann, ben)
    await annChat.send('Lunch?')
    const { seq } = await shows(benChat, 'Lunch?')
    await benChat.send('', {
      kind: 'custom', data: { poll: ['yes', 'no'] }, reply_to_seq: seq, mentions: [ann.account.id],
    })
    const reply = await until(annChat, () => annChat.messages.find(({ kind }) => kind === 'custom'), 'the reply')
    assert.deepEqual([reply.data, reply.reply_to.content], [{ poll: ['yes', 'no'] }, 'Lunch?'])
    await until(annChat, () => annChat.conversation.unread_mentions === 1, 'a mention')
    await annChat.edit(await shows(annChat, 'Lunch?', 'sent'), 'Dinner?')
    for (const chat of [annChat, benChat]) {
      await until(chat, () => chat.messages.at(-1).reply_to?.content === 'Dinner?', 'the newer quote')
    }
    const { messages } = await ann.call('messages.list', { conversation_id: annChat.id, reply_to_seq: seq })
    assert.deepEqual(messages.map((each) => each.seq), [reply.seq])
    await annChat.markRead()
    assert.equal(annChat.conversation.unread_mentions, 0)
    await until(ann, () => ann.pendingCount === 0, 'sent')
    assert.equal(annChat.conversation.unread_mentions, 0)
    await annChat.send('To nobody', { reply_to_seq: 99 })
    assert.equal((await shows(annChat, 'To nobody', 'refused')).error.code, 'not_found')
  })

  test('reactions reach the other user, and other devices', async (t) => {
    const [ann, ben] = await Promise.all([makeUser(t, world.url, 'Ann'), makeUser(t, world.url, 'Ben')])
    const [annChat, benChat] = await makeConversation(ann, ben)
    await annChat.send('Hello')
    await shows(annChat, 'Hello', 'sent')
    await benChat.react(await shows(benChat, 'Hello'), '👍')
    await until(annChat, () => annChat.messages[0].reactions.counts['👍'] === 1, 'one')
    await annChat.react(annChat.messages[0], '👍')
    const both = { counts: { '👍': 2 }, own: ['👍'] }
    for (const chat of [annChat, benChat]) {
      await until(chat, () => chat.messages[0].reactions.counts['👍'] === 2, 'two')
      assert.deepEqual(chat.messages[0].reactions, both)
    }
    const { reactions } = await ann.call('messages.reactions', { conversation_id: annChat.id, seq: 1 })
    assert.deepEqual(reactions.map(({ user_id }) => user_id), [ben.account.id, ann.account.id])
    const again = makeClient(t, world.url)
    await again.signIn({ email: ann.me.email, password })
    await isLive(again)
    const chat = again.chat(annChat.id)
    await chat.load()
    assert.deepEqual(chat.messages[0].reactions, both)
    await chat.react(chat.messages[0], '👍', false)
    await until(annChat, () => annChat.messages[0].reactions.own.length === 0, 'taken back on the other device')
    await annChat.react(annChat.messages[0], 'no emoji')
    await until(ann, () => ann.refusedChanges.length, 'refused')
    assert.equal(ann.refusedChanges[0].error.code, 'invalid_params')
    assert.deepEqual(annChat.messages[0].reactions.own, [])
  })

  test('pins reach all members, and settings only the own devices', async (t) => {
    const [ann, ben] = await Promise.all([makeUser(t, world.url, 'Ann'), makeUser(t, world.url, 'Ben')])
    const [annChat, benChat] = await makeConversation(ann, ben)
    await annChat.send('Pinned')
    await annChat.pin(await shows(annChat, 'Pinned', 'sent'))
    await until(benChat, () => benChat.conversation.pinned_seqs.join() === '1', 'pinned')
    await benChat.pin({ seq: 1 }, false)
    await until(annChat, () => annChat.conversation.pinned_seqs.length === 0, 'unpinned')
    const again = makeClient(t, world.url)
    await again.signIn({ email: ben.me.email, password })
    await isLive(again)
    await ben.setConversation(benChat.id, { is_archived: true, is_marked_unread: true, is_pinned: true })
    const other = () => again.conversation(benChat.id)
    await until(again, () => other().is_archived && other().is_marked_unread && other().is_pinned, 'the settings')
    assert.equal(annChat.conversation.is_archived, false)
    await annChat.send('A mention', { mentions: [ben.account.id] })
    await until(ben, () => !benChat.conversation.is_archived, 'not archived')
    assert.equal(benChat.conversation.is_marked_unread, true)
    await benChat.markRead()
    await until(again, () => !other().is_marked_unread && other().unread_mentions === 0, 'read')
  })

  test('snapshots stay the same until their content differs', async (t) => {
    const [ann, ben] = await Promise.all([makeUser(t, world.url, 'Ann'), makeUser(t, world.url, 'Ben')])
    const [annChat] = await makeConversation(ann, ben)
    const [other] = await makeConversation(ann, await makeUser(t, world.url, 'Cleo'))
    await annChat.send('One')
    await shows(annChat, 'One', 'sent')
    const { conversations: list } = ann
    const [view, message, snapshot] = [other.conversation, annChat.messages[0], annChat.snapshot]
    assert.equal(ann.conversations, list)
    await annChat.send('Two')
    await shows(annChat, 'Two', 'sent')
    assert.notEqual(ann.conversations, list)
    assert.notEqual(annChat.snapshot, snapshot)
    assert.equal(other.conversation, view)
    assert.equal(annChat.messages[0], message)
  })

  test('older messages come from the server, and then from the device', async (t) => {
    const [ann, ben] = await Promise.all([makeUser(t, world.url, 'Ann'), makeUser(t, world.url, 'Ben')])
    const [annChat] = await makeConversation(ann, ben)
    await world.sql(`insert into messages (conversation_id, sender_id, content)
      select '${annChat.id}', '${ann.account.id}', 'number ' || n from generate_series(1, 130) n order by n`)
    await shows(annChat, 'number 130')
    const again = makeClient(t, world.url)
    await again.signIn({ email: ann.me.email, password })
    await isLive(again)
    const chat = again.chat(annChat.id)
    await chat.load()
    assert.equal(chat.messages.length, 20)
    await chat.loadOlder()
    assert.equal(chat.messages.length, 70)
    assert.ok(chat.hasOlder)
    await chat.loadOlder()
    await chat.loadOlder()
    assert.deepEqual(chat.messages.map(({ seq }) => seq), Array.from({ length: 130 }, (_, index) => index + 1))
    assert.equal(chat.hasOlder, false)
  })

  test('onMessage gets each new message once', async (t) => {
    const [ann, ben] = await Promise.all([makeUser(t, world.url, 'Ann'), makeUser(t, world.url, 'Ben')])
    const heard = []
    ben.onMessage(({ content, sender_id }) => heard.push([content, sender_id === ann.account.id]))
    const chat = ann.chat(await ann.openConversation(ben.account.id))
    for (const content of ['one', 'two', 'three']) await chat.send(content)
    // The listeners of messages are called after those of changes.
    const messages = { subscribe: (listener) => ben.onMessage(listener) }
    await until(messages, () => heard.length >= 3, 'three messages')
    assert.deepEqual(heard, [['one', true], ['two', true], ['three', true]])
  })
})
