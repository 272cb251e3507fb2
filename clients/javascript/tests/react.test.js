import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { hasReact, loadReact } from './support/react.js'
import { ben, direct, script, signIn } from './support/scripted-client.js'
import { changes, message, profile } from './support/scripted-server.js'

describe('React', { skip: !hasReact && 'react and react-test-renderer are not installed' }, () => {
  test('components show conversations, messages and presence, and nothing twice', async (t) => {
    const { React: { createElement }, renderer, hooks } = await loadReact()
    const { server, client } = script(t)
    await signIn(client)
    let lists = 0
    function List() {
      lists += 1
      const isOnline = hooks.usePresence(ben)?.is_online
      const state = isOnline ? 'online' : 'offline'
      return hooks.useConversations().map(({ name, unread_count }) => `${name} ${state} ${unread_count} `)
    }
    function Messages() { return hooks.useChat(direct).messages.map(({ content }) => `${content} `) }
    let tree
    await renderer.act(async () => {
      tree = renderer.create(
        createElement(hooks.PostlineProvider, { client }, createElement(List), createElement(Messages)))
    })
    const text = () => tree.toJSON().join('')
    assert.equal(text(), `User ${ben} offline 3 message 1 message 2 message 3 `)

    await renderer.act(async () => {
      server.push('changes', changes('2', {
        messages: [message(direct, 4, ben)], profiles: [profile(ben, { version: 2, full_name: 'Ben' })],
        presence: [{ user_id: ben, is_online: true, last_seen_at: null }],
      }))
      await client.refresh()
    })
    assert.equal(text(), 'Ben online 4 message 1 message 2 message 3 message 4 ')
    const before = lists
    await renderer.act(async () => { await client.refresh() })
    assert.equal(lists, before)

    await renderer.act(async () => { client.disconnect() })
    assert.equal(text(), 'Ben offline 4 message 1 message 2 message 3 message 4 ')
    tree.unmount()
  })
})
