import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { memoryStorage } from '../src/index.js'
import { isLive, until } from './support/client.js'
import { ann, ben, connectTo, direct, firstPage, goOffline, push, script, signIn } from './support/scripted-client.js'
import { conversation, message, profile } from './support/scripted-server.js'

const group = 'c0000000-0000-4000-8000-000000000002'
const cam = 'b0000000-0000-4000-8000-000000000003'

/** The first page with a group, in which Cam answers Ben. */
function pageWithGroup(members = {}) {
  const reply_to = { seq: 1, sender_id: ben, kind: 'text', content: 'an insult', version: 1 }
  const { conversations, messages, profiles } = firstPage()
  return firstPage(3, {
    profiles: [...profiles, profile(cam)],
    conversations: [
      ...conversations, conversation(group, [ann, ben, cam], { kind: 'group', title: 'Alps', last_seq: 3 }),
    ],
    messages: [
      ...messages, message(group, 3, ben, { content: 'more', last: true }),
      message(group, 2, cam, { content: 'why?', reply_to }), message(group, 1, ben, { content: 'an insult' }),
    ],
    ...members,
  })
}

/** What a chat marks: its messages, and the quotes in them. */
const marks = (chat) => chat.messages.map(({ is_blocked, reply_to }) => [is_blocked, reply_to?.is_blocked])

describe('Blocks', () => {
  test('mark the messages, quotes and previews of groups, and no others', async (t) => {
    const { server, client } = script(t, {}, pageWithGroup())
    const chat = await signIn(client)
    const alps = client.chat(group)
    await alps.load()
    const former = [chat.messages, alps.messages, client.blocked]
    assert.deepEqual(client.blocked, [])
    assert.deepEqual(marks(alps), [[false, undefined], [false, false], [false, undefined]])
    await push(server, client, { blocked: [ben] }, '2')
    assert.deepEqual(client.blocked, [ben])
    assert.deepEqual(marks(alps), [[true, undefined], [false, true], [true, undefined]])
    assert.equal(chat.messages, former[0])
    assert.equal(alps.messages[0].content, 'an insult')
    assert.deepEqual([client.conversation(direct).is_blocked, client.conversation(group).is_blocked], [true, false])
    const previews = () => [direct, group].map((id) => client.conversation(id).is_last_message_blocked)
    assert.deepEqual(previews(), [false, true])
    // The same list stays the same object.
    const { blocked } = client
    await push(server, client, { blocked: [ben], presence: [] }, '3')
    assert.equal(client.blocked, blocked)
    // What happens to the group is shown, and one's own message is the newest.
    const event = { type: 'renamed', title: 'Lakes' }
    await push(server, client, { messages: [message(group, 4, ben, { kind: 'system', event })] }, '4')
    assert.deepEqual([alps.messages[3].is_blocked, previews()[1]], [false, false])
    await push(server, client, { messages: [message(group, 5, ben)] }, '5')
    assert.equal(previews()[1], true)
    server.methods['messages.send'] = () => new Promise(() => {})
    await alps.send('so', { reply_to_seq: 5 })
    assert.deepEqual([previews()[1], ...marks(alps).at(-1)], [false, false, true])
    await push(server, client, { blocked: [] }, '6')
    assert.ok(marks(alps).flat().every((mark) => !mark))
    assert.equal(client.conversation(direct).is_blocked, false)
  })

  test('leave messages out of searches and news', async (t) => {
    const { server, client } = script(t, {}, pageWithGroup({ blocked: [ben] }))
    await signIn(client)
    const news = []
    client.onMessage(({ content }) => news.push(content))
    const messages = [message(group, 4, ben, { content: 'hidden' }), message(group, 5, cam, { content: 'shown' })]
    await push(server, client, { messages }, '2')
    await push(server, client, { messages: [message(direct, 4, ben, { content: 'direct' })] }, '3')
    assert.deepEqual(news, ['shown', 'direct'])
    server.methods['messages.search'] = () => ({
      messages: [...messages, message(direct, 1, ben, { content: 'old' })], next: '1.x', is_partial: false,
    })
    const { messages: found, ...page } = await client.searchMessages('lunch')
    assert.deepEqual(found.map(({ content }) => content), ['shown', 'old'])
    assert.deepEqual(page, { next: '1.x', is_partial: false })
    assert.deepEqual(messages.map((each) => client.isBlocked(each)), [true, false])
  })

  test('are asked of the server, and shown when they are done', async (t) => {
    const { server, client } = script(t, {}, pageWithGroup())
    await signIn(client)
    server.methods['users.block'] = ({ user_id }) => {
      server.pages.push({ cursor: '2', reset: false, more: false, blocked: [user_id] })
      return { user_ids: [user_id] }
    }
    server.methods['users.unblock'] = () => {
      server.pages.push({ cursor: '3', reset: false, more: false, blocked: [] })
      return { user_ids: [] }
    }
    await client.block(ben)
    assert.deepEqual(client.blocked, [ben])
    await client.unblock(ben)
    assert.deepEqual(client.blocked, [])
    for (const method of ['users.block', 'users.unblock']) assert.deepEqual(server.calls(method), [{ user_id: ben }])
    server.methods['users.block'] = () => { throw { code: 'not_found', retryable: false } }
    await assert.rejects(client.block(cam), { code: 'not_found' })
    await goOffline(server, client)
    await assert.rejects(client.unblock(ben), { code: 'offline' })
  })

  test('are kept on the device until a list replaces them, and a reset without one ends them', async (t) => {
    const storage = memoryStorage()
    const { server, client } = script(t, { storage }, pageWithGroup({ blocked: [ben, cam] }))
    await signIn(client)
    await client.close()
    server.isReachable = false
    const second = connectTo(t, server, { storage })
    await second.ready
    assert.deepEqual(second.blocked, [ben, cam])
    const alps = second.chat(group)
    await alps.load()
    assert.ok(alps.messages.every(({ is_blocked }) => is_blocked))
    server.isReachable = true
    server.pages.push(pageWithGroup())
    second.connect()
    await isLive(second)
    await until(second, () => second.blocked.length === 0, 'no blocks')
    assert.ok(alps.messages.every(({ is_blocked }) => !is_blocked))
    await second.signOut()
    assert.deepEqual(second.blocked, [])
  })
})
