import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { TypingThrottle } from '../src/typing-throttle.js'
import { until } from './support/client.js'
import { ben, direct, script, signIn } from './support/scripted-client.js'
import { changes, message } from './support/scripted-server.js'

/** Returns a throttle over a clock that the test moves, and what it sends. */
function throttle(t) {
  let now = 0
  const timers = []
  t.mock.method(Date, 'now', () => now)
  t.mock.method(globalThis, 'setTimeout', (action, wait) => timers.push({ action, at: now + wait }))
  const sent = []
  const typing = new TypingThrottle((_id, isTyping) => sent.push([isTyping, now]))
  const advance = (to) => {
    for (let next; (next = timers.find(({ at }) => at <= to)); timers.splice(timers.indexOf(next), 1)) {
      now = next.at
      next.action()
    }
    now = to
  }
  return { typing, sent, advance }
}

describe('Typing', () => {
  test('notices are 2.1 s apart, and the last state is sent', (t) => {
    const { typing, sent, advance } = throttle(t)
    typing.set('c', true)
    typing.set('c', false)
    typing.set('c', true)
    typing.set('c', false)
    advance(5000)
    assert.deepEqual(sent, [[true, 0], [false, 2100]])
  })

  test('a notice is repeated before it expires', (t) => {
    const { typing, sent, advance } = throttle(t)
    for (let time = 0; time <= 7000; time += 500) {
      advance(time)
      typing.set('c', true)
    }
    assert.deepEqual(sent, [[true, 0], [true, 3000], [true, 6000]])
  })

  test('a message ends the typing without a notice', (t) => {
    const { typing, sent, advance } = throttle(t)
    typing.set('c', true)
    typing.messageSent('c')
    advance(5000)
    assert.deepEqual(sent, [[true, 0]])
  })

  test('a user types until its message arrives, it stops, or the connection ends', async (t) => {
    const { server, client } = script(t)
    const chat = await signIn(client)
    const begin = () => {
      server.push('typing', { conversation_id: direct, user_id: ben, is_typing: true, expires_in: 6 })
      assert.deepEqual(chat.typing.map(({ id }) => id), [ben])
    }
    begin()
    server.push('changes', changes('2', { messages: [message(direct, 4, ben)] }))
    await until(chat, () => !chat.typing.length, 'the message')
    begin()
    server.push('typing', { conversation_id: direct, user_id: ben, is_typing: false, expires_in: 6 })
    assert.equal(chat.typing.length, 0)
    begin()
    server.connection.end()
    await until(chat, () => !chat.typing.length, 'the end of the connection')
  })

  test('a user types for as long as its notice says', async (t) => {
    const { server, client } = script(t)
    const chat = await signIn(client)
    server.push('typing', { conversation_id: direct, user_id: ben, is_typing: true, expires_in: 0.05 })
    assert.equal(chat.typing.length, 1)
    await until(chat, () => !chat.typing.length, 'the end of the notice')
  })
})
