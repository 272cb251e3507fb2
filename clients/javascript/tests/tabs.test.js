import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { isLive, shows, until } from './support/client.js'
import { ann, ben, connectTo, direct, script, signIn } from './support/scripted-client.js'
import { changes, conversation, message, profile } from './support/scripted-server.js'
import { TabEnvironment } from './support/tab-environment.js'

const group = 'd0000000-0000-4000-8000-000000000001'

/** Returns a leading tab that is signed in, and another one. */
async function twoTabs(t, environment = new TabEnvironment()) {
  const { server, client: leader } = script(t, environment.options)
  const leaderChat = await signIn(leader)
  const follower = connectTo(t, server, environment.options)
  await isLive(follower)
  const followerChat = follower.chat(direct)
  await followerChat.load()
  return { environment, server, leader, leaderChat, follower, followerChat }
}

describe('Tabs', () => {
  test('one tab has a connection, and all show the same', async (t) => {
    const { server, followerChat, follower } = await twoTabs(t)
    assert.equal(server.connections.length, 1)
    assert.equal(follower.me.id, ann)
    server.push('changes', changes('2', {
      messages: [message(direct, 4, ben, { content: 'for both' })],
      profiles: [profile(ben, { version: 2, full_name: 'Benjamin' })],
    }))
    await shows(followerChat, 'for both')
    assert.equal(follower.conversations[0].name, 'Benjamin')
    assert.ok(follower.has('media'))
  })

  test('a message of another tab is sent by the one that leads', async (t) => {
    const { server, leaderChat, followerChat } = await twoTabs(t)
    server.methods['messages.send'] = ({ content, client_id }) => message(direct, 4, ann, { content, client_id })
    await followerChat.send('from the other tab')
    await shows(followerChat, 'from the other tab', 'sent')
    await shows(leaderChat, 'from the other tab', 'sent')
    assert.equal(server.calls('messages.send').length, 1)
  })

  test('another tab edits a refused message, and none that is being sent', async (t) => {
    const { server, followerChat } = await twoTabs(t)
    server.methods['messages.send'] = () => { throw { code: 'invalid_params', retryable: false } }
    await followerChat.send('bad')
    const refused = await shows(followerChat, 'bad', 'refused')
    server.methods['messages.send'] = () => new Promise(() => {})
    await followerChat.edit(refused, 'good')
    const queued = await shows(followerChat, 'good', 'queued')
    await until(server, () => server.calls('messages.send').length === 2, 'the request')
    assert.equal(server.calls('messages.send').at(-1).content, 'good')
    await assert.rejects(followerChat.edit(queued, 'changed'), { code: 'not_found' })
  })

  test('another tab calls methods, with the results stored', async (t) => {
    const { server, follower } = await twoTabs(t)
    server.methods['conversations.open'] = () => ({ ...conversation(group, [ann, ben]), profiles: [profile(ben)] })
    assert.equal(await follower.openConversation(ben), group)
    assert.ok(follower.conversation(group))
    server.methods['profiles.search'] = () => { throw { code: 'rate_limited', retryable: true, retry_after: 3 } }
    await assert.rejects(follower.call('profiles.search', { query: 'x' }), { code: 'rate_limited', retryAfter: 3 })
  })

  test('another tab blocks a user, and both show it', async (t) => {
    const { server, leader, follower } = await twoTabs(t)
    server.methods['users.block'] = () => {
      server.pages.push(changes('2', { blocked: [ben] }))
      return { user_ids: [ben] }
    }
    await follower.block(ben)
    for (const client of [follower, leader]) {
      assert.deepEqual(client.blocked, [ben])
      assert.equal(client.conversation(direct).is_blocked, true)
    }
  })

  test('another tab loads older messages', async (t) => {
    const { server, leaderChat, followerChat } = await twoTabs(t)
    server.push('changes', changes('2', { messages: [message(direct, 9, ben)], limited: [direct] }))
    await until(followerChat, () => followerChat.messages.length === 1, 'the gap')
    server.methods['messages.list'] = () => ({
      messages: Array.from({ length: 8 }, (_, index) => message(direct, index + 1, ben)),
    })
    await followerChat.loadOlder()
    assert.equal(followerChat.messages.length, 9)
    await leaderChat.loadOlder()
    assert.equal(leaderChat.messages.length, 9)
    assert.equal(server.calls('messages.list').length, 1)
  })

  test('typing is shown in all tabs, and told from all', async (t) => {
    const { server, follower, followerChat } = await twoTabs(t)
    server.push('typing', { conversation_id: direct, user_id: ben, is_typing: true, expires_in: 6 })
    await until(followerChat, () => followerChat.typing.length === 1, 'typing')
    assert.deepEqual(follower.typing, { [direct]: [ben] })
    followerChat.setTyping(true)
    await until(server, () => server.calls('conversations.typing').length === 1, 'the notice')
  })

  for (const hasLocks of [true, false]) {
    test(`another tab leads when the leading one is closed${hasLocks ? '' : ', without Web Locks'}`, async (t) => {
      const { server, leader, follower, followerChat } = await twoTabs(t, new TabEnvironment({ hasLocks }))
      server.push('changes', changes('7', { messages: [message(direct, 4, ben)] }))
      await until(followerChat, () => followerChat.messages.length === 4, 'the message')
      server.pages.push(changes('8', { messages: [message(direct, 5, ben)] }))
      await leader.close()
      await until(followerChat, () => followerChat.messages.length === 5, 'the next message')
      await isLive(follower)
      assert.equal(server.calls('sync.open').at(-1).cursor, '7')
      assert.equal(server.connections.length, 1)
    })
  }

  test('a sign-out ends the session in all tabs, and a sign-in begins one', async (t) => {
    const { leader, follower, server } = await twoTabs(t)
    await follower.signOut()
    await until(leader, () => leader.state.name === 'signed_out', 'signed out')
    assert.equal(follower.state.name, 'signed_out')
    await until(server, () => server.connections.length === 0, 'no connection')
    await follower.signIn({ email: 'ann@example.com', password: 'secret' })
    await Promise.all([isLive(leader), isLive(follower)])
    assert.equal(server.connections.length, 1)
  })

  test('an ended session is told in all tabs', async (t) => {
    const { server, leader, follower } = await twoTabs(t)
    server.methods['session.authenticate'] = server.methods['auth.refresh'] = () => {
      throw { code: 'session_revoked' }
    }
    server.connection.goodbye('session_revoked', false)
    await until(follower, () => follower.state.name === 'signed_out', 'signed out')
    assert.equal(follower.state.error.code, 'session_revoked')
    assert.equal(leader.state.error.code, 'session_revoked')
  })

  test('the user is online while it sees any tab', async (t) => {
    const { server, leader, follower } = await twoTabs(t)
    leader.setVisible(false)
    await follower.refresh()
    assert.equal(server.calls('session.set_state').length, 0)
    follower.setVisible(false)
    await until(server, () => server.calls('session.set_state').length === 1, 'background')
    assert.deepEqual(server.calls('session.set_state'), [{ state: 'background' }])
  })
})
