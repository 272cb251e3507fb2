import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setImmediate } from 'node:timers'
import { memoryStorage } from '../src/index.js'
import { isLive, makeClient, makeUser, password, until } from './support/client.js'
import { Cable } from './support/cable.js'
import { startDevWorld } from './support/dev-world.js'
import { ann, ben, connectTo, goOffline, script, signIn } from './support/scripted-client.js'
import { tokens } from './support/scripted-server.js'
import { TabEnvironment } from './support/tab-environment.js'

/** Ends the connection, and signs out once the client has noticed. */
async function signOutOffline(server, client) {
  await goOffline(server, client)
  await client.signOut()
  assert.equal(client.state.name, 'signed_out')
}

/** Returns a storage whose settings of the device a test can read and wait for. */
function watched(storage = memoryStorage()) {
  const listeners = new Set()
  const settings = new Map()
  return {
    ...storage,
    /** The values by name. */
    settings,
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    async open(name) {
      const database = await storage.open(name)
      if (name !== 'device') return database
      return {
        read: (...all) => database.read(...all), erase: () => database.erase(), close: () => database.close(),
        async write(writes) {
          await database.write(writes)
          for (const { key, value } of writes) settings[value ? 'set' : 'delete'](key, value?.value)
          for (const listener of [...listeners]) listener()
        },
      }
    },
  }
}

/** Returns a client of Ann that has signed out without a connection, its server, and its storage. */
async function signedOut(test) {
  const storage = watched()
  const { server, client } = script(test, { storage })
  await signIn(client)
  await signOutOffline(server, client)
  return { storage, server, client }
}

/** The sessions that the device keeps to end them, the oldest first. */
function kept({ settings }) {
  return [...settings].filter(([name]) => name.startsWith('ended/')).sort().map(([, value]) => value)
}

function keepsNone(storage) { return until(storage, () => kept(storage).length === 0, 'no session is kept') }

function logOuts(server, count) {
  return until(server, () => server.calls('auth.logout').length === count, `${count} sessions ended`)
}

describe('A sign-out without a connection', () => {
  test('ends the session at the server once it can be reached, and keeps only the tokens until then', async (t) => {
    const { storage, server, client } = await signedOut(t)
    const session = { url: 'ws://scripted/v1/line', accessToken: 'access-1', refreshToken: 'refresh-1' }
    assert.deepEqual([storage.settings.size, kept(storage)], [1, [session]])
    server.requests = []
    server.isReachable = true
    client.connect()
    await logOuts(server, 1)
    assert.deepEqual(server.requests.map(([method]) => method), ['session.authenticate', 'auth.logout'])
    assert.equal(server.calls('session.authenticate')[0].access_token, 'access-1')
    await keepsNone(storage)
    assert.equal(storage.settings.size, 0)
  })

  test('ends it after a reload, without a new sign-in', async (t) => {
    const { storage, server, client } = await signedOut(t)
    await client.close()
    server.isReachable = true
    const again = connectTo(t, server, { storage })
    await logOuts(server, 1)
    await keepsNone(storage)
    assert.equal(again.state.name, 'signed_out')
  })

  test('ends it after another user has signed in, whose session stays', async (t) => {
    const { storage, server, client } = await signedOut(t)
    server.isReachable = true
    server.userID = ben
    server.methods['auth.login'] = () => tokens(ben, false, 7)
    await client.signIn({ email: 'ben@example.com', password: 'secret' })
    await Promise.all([isLive(client), logOuts(server, 1)])
    assert.equal(client.account.id, ben)
    const [, former] = server.requests.findLast(([method, params]) => {
      return method === 'session.authenticate' && params.access_token === 'access-1'
    })
    assert.ok(former)
    assert.equal(await client.accessToken(), 'access-7')
    await keepsNone(storage)
    assert.equal(storage.settings.get('session').userID, ben)
  })

  test('renews an access token that has expired', async (t) => {
    const { server, client } = await signedOut(t)
    server.methods['session.authenticate'] = ({ access_token }) => {
      if (access_token === 'access-1') throw { code: 'token_expired', retryable: false }
      return { user_id: ann }
    }
    server.isReachable = true
    client.connect()
    await logOuts(server, 1)
    assert.deepEqual(server.calls('auth.refresh'), [{ refresh_token: 'refresh-1' }])
    assert.equal(server.calls('session.authenticate').at(-1).access_token, 'access-2')
  })

  for (const code of ['session_revoked', 'invalid_token']) {
    test(`drops a session that the server answers with ${code}`, async (t) => {
      const { storage, server, client } = await signedOut(t)
      server.methods['session.authenticate'] = server.methods['auth.refresh'] = () => { throw { code } }
      server.isReachable = true
      client.connect()
      await keepsNone(storage)
      assert.equal(server.calls('auth.logout').length, 0)
    })
  }

  test('tries again after an error that may pass', async (t) => {
    const { storage, server, client } = await signedOut(t)
    server.methods['auth.logout'] = () => {
      delete server.methods['auth.logout']
      throw { code: 'unavailable', retryable: true }
    }
    server.isReachable = true
    client.connect()
    await logOuts(server, 2)
    await keepsNone(storage)
  })

  test('sends the tokens to no other server', async (t) => {
    const { storage, server, client } = await signedOut(t)
    await client.close()
    server.isReachable = true
    server.requests = []
    const other = connectTo(t, server, { storage, url: 'ws://other/v1/line' })
    await other.signIn({ email: 'ann@example.com', password: 'secret' })
    await isLive(other)
    await other.refresh()
    assert.equal(server.calls('auth.logout').length, 0)
    assert.equal(kept(storage).length, 1)
  })

  test('keeps at most ten sessions, the newest', async (t) => {
    const storage = watched()
    const { server, client } = script(t, { storage })
    let number = 0
    let time = Date.now()
    t.mock.method(Date, 'now', () => time += 1)
    server.methods['auth.login'] = () => tokens(ann, false, number += 1)
    while (number < 12) {
      server.isReachable = true
      // The sessions that are kept do not end meanwhile.
      server.methods['auth.logout'] = () => { throw { code: 'unavailable', retryable: true } }
      await client.signIn({ email: 'ann@example.com', password: 'secret' })
      await isLive(client)
      await signOutOffline(server, client)
    }
    const tokensOf = kept(storage).map(({ accessToken }) => accessToken)
    assert.deepEqual(tokensOf, Array.from({ length: 10 }, (_, index) => `access-${index + 3}`))
  })

  test('keeps no token of another server that has the accounts', async (t) => {
    const storage = watched()
    const { server, client } = script(t, { storage })
    await client.signIn({ accessToken: 'external' })
    await isLive(client)
    await signOutOffline(server, client)
    assert.equal(storage.settings.size, 0)
  })

  test('in a tab that does not lead is sent by the one that leads', async (t) => {
    const environment = new TabEnvironment()
    environment.storage = watched(environment.storage)
    const { server, client: leader } = script(t, environment.options)
    await signIn(leader)
    const follower = connectTo(t, server, environment.options)
    await isLive(follower)
    await signOutOffline(server, follower)
    await until(leader, () => leader.state.name === 'signed_out', 'signed out')
    server.isReachable = true
    leader.connect()
    await logOuts(server, 1)
    await keepsNone(environment.storage)
  })

  test('is not undone by tokens that another tab renews', async (t) => {
    const environment = new TabEnvironment()
    environment.storage = watched(environment.storage)
    const { server, client: leader } = script(t, environment.options)
    await signIn(leader)
    const follower = connectTo(t, server, environment.options)
    await isLive(follower)
    let answer
    server.methods['auth.refresh'] = () => new Promise((resolve) => { answer = () => resolve(tokens(ann, false, 2)) })
    t.mock.method(Date, 'now', () => new Date().getTime() + 3_600_000)
    leader.accessToken().catch(() => {})
    await until(server, () => answer, 'the renewal')
    const { postMessage } = environment.BroadcastChannel.prototype
    // The answer arrives before the leading tab hears of the sign-out.
    environment.BroadcastChannel.prototype.postMessage = function (message) {
      if (message.type !== 'session') return postMessage.call(this, message)
      answer()
      setImmediate(() => postMessage.call(this, message))
    }
    server.methods['auth.logout'] = () => ({ revoked: 1 })
    await follower.signOut()
    await until(leader, () => leader.state.name === 'signed_out', 'signed out')
    assert.equal(environment.storage.settings.size, 0)
  })
})

describe('A sign-out', () => {
  test('with a connection keeps nothing', async (t) => {
    const storage = watched()
    const { server, client } = script(t, { storage })
    await signIn(client)
    await client.signOut()
    assert.equal(storage.settings.size, 0)
    assert.equal(server.calls('auth.logout').length, 1)
  })

  test('whose request is refused is repeated', async (t) => {
    const storage = watched()
    const { server, client } = script(t, { storage })
    await signIn(client)
    server.methods['auth.logout'] = () => {
      delete server.methods['auth.logout']
      throw { code: 'unavailable', retryable: true }
    }
    await client.signOut()
    await logOuts(server, 2)
  })

  test('without a connection ends the session in the database', async (t) => {
    const world = await startDevWorld()
    t.after(() => world.stop())
    const cable = await Cable.to(world.url)
    t.after(() => cable.close())
    const storage = watched()
    const user = await makeUser(t, cable.url, 'Ann', { storage })
    const { id, email } = { id: user.account.id, email: user.me.email }
    const open = () => world.sql(`select count(*) from app.sessions where user_id = '${id}' and revoked_at is null`)
    cable.cut()
    await until(user, () => user.state.name === 'offline', 'offline')
    await user.signOut()
    await user.close()
    assert.equal(await open(), '1')
    cable.mend()
    const again = makeClient(t, cable.url, { storage })
    await again.signIn({ email, password })
    await isLive(again)
    await keepsNone(storage)
    assert.equal(await open(), '1')
    await again.refresh()
  })
})
