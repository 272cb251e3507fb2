import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ben, direct, goOffline, script, signIn } from './support/scripted-client.js'
import { message } from './support/scripted-server.js'

describe('The search of messages', () => {
  test('asks the server, with the names of the protocol', async (t) => {
    const { server, client } = script(t)
    await signIn(client)
    const found = { messages: [message(direct, 2, ben, { content: 'lunch' })], next: '1.x', is_partial: false }
    server.methods['messages.search'] = () => found
    assert.deepEqual(await client.searchMessages('lunch'), found)
    await client.searchMessages('lunch', { conversationId: direct, senderId: ben, limit: 5, before: '1.x' })
    assert.deepEqual(server.calls('messages.search'), [
      { query: 'lunch' }, { query: 'lunch', conversation_id: direct, sender_id: ben, limit: 5, before: '1.x' },
    ])
  })

  test('needs a connection', async (t) => {
    const { server, client } = script(t)
    await signIn(client)
    await goOffline(server, client)
    await assert.rejects(client.searchMessages('lunch'), { code: 'offline' })
  })
})
