import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { memoryStorage } from '../src/index.js'
import { until } from './support/client.js'
import { ben, connectTo, direct, firstPage, goOffline, push, script, signIn } from './support/scripted-client.js'
import { message } from './support/scripted-server.js'

const invalid = (field) => (error) => {
  assert.deepEqual([error.name, error.code, error.field], ['PostlineError', 'invalid_params', field])
  return true
}

describe('Mistakes of the app', () => {
  test('are errors of the call, and store nothing', async (t) => {
    const storage = memoryStorage()
    const { server, client } = script(t, { storage })
    const chat = await signIn(client)
    await goOffline(server, client)
    const circular = { full_name: 'Ann' }
    circular.preferences = circular
    for (const fields of [undefined, null, 'x', 5, [], () => {}, circular]) {
      await assert.rejects(client.updateProfile(fields), invalid(undefined))
    }
    for (const text of ['x😅'.slice(0, 2), '😅'.slice(1), 5, null, undefined]) {
      await assert.rejects(chat.send(text), invalid('content'))
    }
    await assert.rejects(chat.setDraft(5), invalid('content'))
    for (const change of [undefined, null, {}, 7]) {
      await assert.rejects(client.discard(change), invalid('change'))
      await assert.rejects(client.retry(change), invalid('change'))
      await assert.rejects(chat.discard(change ?? undefined), invalid('message'))
      await assert.rejects(chat.retry(change ?? undefined), invalid('message'))
    }
    await assert.rejects(client.signOut({ erased: true }), invalid('erased'))
    for (const listener of [undefined, null, 'x', {}]) {
      assert.throws(() => client.subscribe(listener), invalid('listener'))
      assert.throws(() => client.onMessage(listener), invalid('listener'))
      assert.throws(() => chat.subscribe(listener), invalid('listener'))
    }
    assert.deepEqual([client.storeError, client.pendingCount, client.refusedChanges], [null, 0, []])
    // What JSON does not have is left out.
    await client.updateProfile({ bio: 'x', location() {} })
    await client.close()
    server.pages.push(firstPage())
    const again = connectTo(t, server, { storage })
    await again.ready
    assert.deepEqual([again.me.bio, again.pendingCount], ['x', 1])
  })

  test('a request that the server cannot parse is refused, and blocks nothing', async (t) => {
    const { server, client } = script(t)
    const chat = await signIn(client)
    let seq = 3
    server.methods['messages.send'] = ({ content, client_id }) => {
      if (content === 'bad') throw { code: 'parse_error', retryable: false }
      seq += 1
      return message(direct, seq, client.account.id, { content, client_id })
    }
    await Promise.all(['one', 'bad', 'two'].map((text) => chat.send(text)))
    await until(client, () => client.pendingCount === 0, 'all sent or refused')
    assert.deepEqual(chat.messages.slice(-3).map(({ content, delivery }) => [content, delivery]),
      [['one', 'sent'], ['two', 'sent'], ['bad', 'refused']])
    assert.equal(client.refusedChanges[0].error.code, 'parse_error')
  })

  test('a listener that throws stops nothing else', async (t) => {
    const { server, client } = script(t)
    const chat = await signIn(client)
    const errors = []
    const original = globalThis.setTimeout
    t.mock.method(globalThis, 'setTimeout', (run, ...rest) => original(() => {
      try {
        run()
      } catch (error) {
        errors.push(error.message)
      }
    }, ...rest))
    const seen = []
    for (const [name, subscribe] of [
      ['client', (each) => client.subscribe(each)], ['chat', (each) => chat.subscribe(each)],
      ['message', (each) => client.onMessage(each)],
    ]) {
      subscribe(() => { throw new Error(name) })
      subscribe(() => seen.push(name))
    }
    await push(server, client, { messages: [message(direct, 4, ben, { content: 'news' })] }, '2')
    await chat.send('answer')
    assert.deepEqual([chat.messages.at(-2).content, client.state.name, client.storeError], ['news', 'live', null])
    assert.deepEqual(new Set(seen), new Set(['client', 'chat', 'message']))
    await new Promise((resolve) => original(resolve, 20))
    assert.deepEqual(new Set(errors), new Set(seen))
  })
})
