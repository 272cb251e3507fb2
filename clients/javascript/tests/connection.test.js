import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { memoryStorage } from '../src/index.js'
import { isLive, until } from './support/client.js'
import { ann, connectTo, script, signIn } from './support/scripted-client.js'
import { tokens } from './support/scripted-server.js'

function isIn(client, name) { return until(client, () => client.state.name === name, name) }

/** Signs in with tokens that are to be renewed at once. */
function expireTokens(server) {
  server.methods['auth.login'] = () => ({ ...tokens(ann), expires_in: 0 })
}

describe('Connection', () => {
  const temporary = [
    'shutting_down', 'restored', 'slow_consumer', 'token_expired', 'authentication_timeout', 'too_many_connections',
  ]
  for (const code of temporary) {
    test(`connects again after the goodbye ${code}`, async (t) => {
      const { server, client } = script(t)
      await signIn(client)
      server.connection.goodbye(code, true)
      await isIn(client, 'offline')
      assert.equal(client.state.error.message, `Goodbye: ${code}.`)
      assert.ok(client.state.retryAt > 0)
      client.connect()
      await isLive(client)
    })
  }

  test('tells why the first connection fails, as far as a page can know', async (t) => {
    const storage = memoryStorage()
    const { server, client } = script(t, { storage })
    await signIn(client)
    await client.close()
    server.isReachable = false
    const pages = [
      [undefined, 'The server could not be reached.'],
      [{ host: 'scripted', origin: 'http://scripted' }, 'The server could not be reached.'],
      [{ host: 'app.example.com', origin: 'https://app.example.com' },
        'The server could not be reached, or does not accept pages of https://app.example.com.'],
    ]
    t.after(() => { delete globalThis.location })
    Object.defineProperty(globalThis, 'navigator', { value: { onLine: true }, configurable: true })
    for (const [location, message] of pages) {
      Object.defineProperty(globalThis, 'location', { value: location, configurable: true })
      const signedOut = connectTo(t, server)
      await assert.rejects(signedOut.signIn({ email: 'ann@example.com', password: 'x' }), { code: 'offline', message })
      assert.equal(signedOut.state.name, 'signed_out')
      const again = connectTo(t, server, { storage })
      await isIn(again, 'offline')
      assert.deepEqual([again.state.error.code, again.state.error.message], ['offline', message])
      await again.close()
    }
  })

  test('waits for the app after a goodbye without reconnect', async (t) => {
    const { server, client } = script(t)
    await signIn(client)
    server.connection.goodbye('line_too_long', false)
    await isIn(client, 'offline')
    assert.equal(client.state.retryAt, undefined)
    client.connect()
    await isLive(client)
  })

  test('signs out if the server confirms a revoked session', async (t) => {
    const storage = memoryStorage()
    const { server, client } = script(t, { storage })
    await signIn(client)
    server.methods['session.authenticate'] = () => { throw { code: 'session_revoked', retryable: false } }
    server.methods['auth.refresh'] = () => { throw { code: 'session_revoked', retryable: false } }
    server.connection.goodbye('session_revoked', false)
    await isIn(client, 'signed_out')
    assert.equal(client.state.error.code, 'session_revoked')
    assert.equal(client.account, null)
    assert.equal(client.conversations.length, 0)
    // The reason survives a reload, until the next sign-in.
    const again = connectTo(t, server, { storage })
    await again.ready
    assert.equal(again.state.name, 'signed_out')
    assert.deepEqual(again.state.error, client.state.error)
    delete server.methods['session.authenticate']
    await signIn(again)
    await again.signOut()
    assert.equal(again.state.error, undefined)
  })

  test('erases the data of a session that the server ends, if the app wants that', async (t) => {
    for (const eraseOnSessionEnd of [true, false]) {
      const storage = memoryStorage()
      const { server, client } = script(t, { storage, eraseOnSessionEnd })
      await signIn(client)
      server.methods['session.authenticate'] = server.methods['auth.refresh'] = () => {
        throw { code: 'session_revoked', retryable: false }
      }
      server.connection.goodbye('session_revoked', false)
      await isIn(client, 'signed_out')
      const database = await storage.open(`user/${ann}`)
      assert.equal((await database.read('message')).length, eraseOnSessionEnd ? 0 : 3)
    }
  })

  test('stays signed in if newer tokens are accepted after a revocation', async (t) => {
    const { server, client } = script(t)
    await signIn(client)
    let isRevoked = true
    server.methods['session.authenticate'] = ({ access_token }) => {
      if (access_token === 'access-1' && isRevoked) throw { code: 'session_revoked', retryable: false }
      return { user_id: ann }
    }
    server.methods['auth.refresh'] = () => tokens(ann, false, 2)
    server.connection.goodbye('session_revoked', false)
    await until(server, () => server.calls('auth.refresh').length === 1, 'the renewal')
    isRevoked = false
    await isLive(client)
  })

  test('renews expired tokens before it authenticates, and stores them', async (t) => {
    const storage = memoryStorage()
    const { server, client } = script(t, { storage })
    expireTokens(server)
    server.methods['auth.refresh'] = () => tokens(ann, false, 2)
    await signIn(client)
    assert.deepEqual(server.calls('auth.refresh'), [{ refresh_token: 'refresh-1' }])
    assert.equal(server.calls('session.authenticate').at(-1).access_token, 'access-2')
    await client.close()
    const again = connectTo(t, server, { storage })
    await isLive(again)
    assert.equal(server.calls('auth.refresh').length, 1)
  })

  test('renews tokens once for any number of calls', async (t) => {
    const { server, client } = script(t)
    await signIn(client)
    let finish
    let number = 1
    server.methods['auth.refresh'] = () => new Promise((resolve) => {
      number += 1
      finish = () => resolve({ ...tokens(ann, false, number), expires_in: 3600 })
    })
    // The device's clock has moved on by an hour.
    t.mock.method(Date, 'now', () => new Date().getTime() + 3_600_000)
    const taken = Promise.all([client.accessToken(), client.accessToken(), client.accessToken()])
    await until(server, () => finish, 'the renewal')
    finish()
    assert.deepEqual(await taken, ['access-2', 'access-2', 'access-2'])
    assert.equal(server.calls('auth.refresh').length, 1)
  })

  test('an access token provider is called when the token has expired', async (t) => {
    const { server, client } = script(t)
    let number = 0
    await client.signIn({ accessToken: async () => `external-${number += 1}` })
    await isLive(client)
    server.methods['session.authenticate'] = ({ access_token }) => {
      if (access_token === 'external-1') throw { code: 'token_expired', retryable: false }
      return { user_id: ann, expires_at: new Date(Date.now() + 3_600_000).toISOString() }
    }
    server.connection.goodbye('token_expired', true)
    await isIn(client, 'offline')
    client.connect()
    await isLive(client)
    assert.equal(server.calls('session.authenticate').at(-1).access_token, 'external-2')
  })

  test('a call whose connection is lost fails with offline', async (t) => {
    const { server, client } = script(t)
    await signIn(client)
    server.methods['profiles.search'] = () => new Promise(() => {})
    const call = client.call('profiles.search', { query: 'bob' })
    await until(server, () => server.calls('profiles.search').length, 'the call')
    server.connection.end()
    await assert.rejects(call, { code: 'offline', isRetryable: true })
  })

  test('errors of the server have code, field and retryAfter', async (t) => {
    const { server, client } = script(t)
    await signIn(client)
    server.methods['profiles.search'] = () => {
      throw { code: 'rate_limited', retryable: true, retry_after: 2.5, field: 'query' }
    }
    await assert.rejects(client.call('profiles.search', { query: 'bob' }), {
      name: 'PostlineError', code: 'rate_limited', isRetryable: true, retryAfter: 2.5, field: 'query',
    })
  })

  test('a new password signs in', async (t) => {
    const { server, client } = script(t)
    server.methods['auth.reset_password'] = () => tokens(ann)
    await client.resetPassword({ token: 'mailed', password: 'new password' })
    assert.equal(client.account.id, ann)
    assert.deepEqual(server.calls('auth.reset_password'), [{ token: 'mailed', password: 'new password' }])
  })

  test('onLine gets each line, and of an answer the method and duration', async (t) => {
    const lines = []
    const { client } = script(t, { onLine: (direction, line, details) => lines.push([direction, line, details]) })
    await signIn(client)
    const sent = lines.find(([direction, line]) => direction === 'out' && line.method === 'sync.open')
    assert.deepEqual(sent[2], { size: JSON.stringify(sent[1]).length })
    const [, answer, { method, size, duration }] = lines.find(([, line]) => line.result?.cursor)
    assert.deepEqual([method, size], ['sync.open', JSON.stringify(answer).length])
    assert.ok(duration >= 0)
  })

  test('the URLs of pictures come in one call, and again on request', async (t) => {
    const { server, client } = script(t, { mediaURL: async (url) => (url === 'b' ? null : `/store/${url}`) })
    await signIn(client)
    server.methods['media.urls'] = ({ ids }) => ({
      media: ids.filter((id) => id !== 'c').map((id) => ({ id, url: id })),
    })
    const urls = (...ids) => Promise.all(ids.map((media_id) => client.pictureURL({ media_id })))
    assert.deepEqual(await urls('a', 'b', 'c'), ['/store/a', null, null])
    await urls('a')
    await client.pictureURL({ media_id: 'a' }, { renew: true })
    assert.deepEqual(server.calls('media.urls'), [{ ids: ['a', 'b', 'c'] }, { ids: ['a'] }])
  })

  test('disconnect lasts until connect', async (t) => {
    const { server, client } = script(t)
    await signIn(client)
    client.disconnect()
    assert.equal(client.state.name, 'offline')
    assert.equal(server.connections.length, 0)
    await assert.rejects(client.call('me.get'), { code: 'offline' })
    client.connect()
    await isLive(client)
  })

  test('a page that slept checks its connection, and opens another', async (t) => {
    const { server, client } = script(t)
    await signIn(client)
    const sleeping = server.connection
    server.methods['server.info'] = () => new Promise(() => {})
    // The watch of the connection finds, at its next tick, that nothing was heard for hours.
    const slept = new Date().getTime() + 3 * 3_600_000
    t.mock.method(Date, 'now', () => slept)
    await isIn(client, 'offline')
    assert.equal(client.state.error.message, 'The server does not answer.')
    client.connect()
    await isLive(client)
    assert.notEqual(server.connection, sleeping)
  })

  test('a client that is not seen is in the background', async (t) => {
    const { server, client } = script(t)
    await signIn(client)
    client.setVisible(false)
    await until(server, () => server.calls('session.set_state').length === 1, 'background')
    server.connection.end()
    await isIn(client, 'offline')
    client.connect()
    await isLive(client)
    await until(server, () => server.calls('session.set_state').length === 2, 'background again')
    client.setVisible(true)
    await until(server, () => server.calls('session.set_state').length === 3, 'active')
    assert.deepEqual(
      server.calls('session.set_state').map(({ state }) => state), ['background', 'background', 'active'])
  })
})
