import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { newEmail, password, watchdog } from './support/client.js'
import { startDevWorld } from './support/dev-world.js'

const program = fileURLToPath(new URL('support/client-program.js', import.meta.url))

/** A client program of Tests/Conformance/README.md, with its folder. */
class Program {
  #nextID = 1
  /** @type {Map<number, { resolve: (result: any) => void, reject: (error: any) => void }>} */
  #requests = new Map()
  #process
  #ended

  constructor(test, port) {
    this.port = port
    this.folder = mkdtempSync(join(tmpdir(), 'postline-program-'))
    this.launch()
    test.after(async () => {
      await this.kill()
      rmSync(this.folder, { recursive: true, force: true })
    })
  }

  launch() {
    const child = spawn(process.execPath, [program, this.folder, '0', String(this.port)], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    this.#process = child
    this.#ended = once(child, 'exit')
    // Requests that a kill interrupts are lost.
    child.stdin.on('error', () => {})
    createInterface({ input: child.stdout }).on('line', (line) => {
      const { id, result, error } = JSON.parse(line)
      const request = this.#requests.get(id)
      this.#requests.delete(id)
      if (error) request.reject(error)
      else request.resolve(result)
    })
  }

  /** Sends a request, and resolves with its result. */
  do(name, parameters = {}) {
    const id = this.#nextID++
    this.#process.stdin.write(`${JSON.stringify({ id, do: name, ...parameters })}\n`)
    return new Promise((resolve, reject) => this.#requests.set(id, { resolve, reject }))
  }

  signIn(name) { return this.do('signIn', { email: `${name}@example.com`, password }) }

  /** Waits until a condition is true of the state, and returns the state. */
  async shows(condition) {
    const end = Date.now() + watchdog
    for (;;) {
      const state = await this.do('state')
      if (condition(state)) return state
      if (Date.now() > end) assert.fail(`waited for ${condition}, got ${JSON.stringify(state)}`)
      // The program announces no changes.
      await sleep(20)
    }
  }

  async kill() {
    this.#process.kill('SIGKILL')
    await this.#ended
    this.#requests.clear()
  }

  async relaunch() {
    await this.kill()
    this.launch()
  }

  /** Ends the input, and resolves with the exit code. */
  async end() {
    this.#process.stdin.end()
    return (await this.#ended)[0]
  }
}

function contents({ conversations }, id) {
  return conversations.find((each) => each.id === id)?.messages.map(({ content }) => content) ?? []
}

/** The members of a message that has no details, and of a conversation that has none. */
const noDetails = {
  kind: 'text', streaming: false, blocked: false, attachments: [], reply_to: null, mentions: [],
  mentions_everyone: false, data: null, reactions: [],
}
const noSettings = {
  unread_mentions: 0, is_marked_unread: false, is_archived: false, is_pinned: false, pinned_seqs: [], data: null,
  is_blocked: false, is_last_message_blocked: false,
}

const isSettled = ({ live, pending }) => live && pending === 0

describe('The client program', () => {
  let world
  before(async () => { world = await startDevWorld() })
  after(() => world.stop())

  const start = (t) => new Program(t, new URL(world.url).port)

  /** Starts the programs of two new users, and a conversation between them. */
  async function startTwo(t) {
    const programs = [start(t), start(t)]
    for (const each of programs) {
      await each.do('signInAsGuest')
      await each.do('upgrade', { email: newEmail(), password, full_name: 'Robin Ray' })
    }
    const { me } = await programs[1].shows((state) => state.live && state.me)
    const { conversation } = await programs[0].do('open', { user: me.id })
    await programs[1].shows(({ conversations }) => conversations.some(({ id }) => id === conversation))
    return { programs, conversation }
  }

  test('shows the same messages to both users', async (t) => {
    const [alice, bob] = [start(t), start(t)]
    await Promise.all([alice.signIn('alice'), bob.signIn('bob')])
    const { me } = await bob.shows(isSettled)
    const before = (await alice.shows(isSettled)).unread
    const { conversation } = await alice.do('createGroup', { title: 'Hikers', users: [me.id] })
    const { client_id } = await alice.do('send', { conversation, text: 'Hello' })
    assert.match(client_id, /^[0-9a-f-]{36}$/)
    await bob.shows((state) => contents(state, conversation).includes('Hello'))
    await bob.do('send', { conversation, text: 'Hi' })
    await alice.do('edit', { conversation, text: 'Hello, all' })
    const isDone = (state) => isSettled(state) && contents(state, conversation).slice(-2).join() === 'Hello, all,Hi'
    const [first, second] = [await alice.shows(isDone), await bob.shows(isDone)]
    assert.equal(first.account, 'user')
    assert.equal(first.me.full_name, 'Alice Moreau')
    assert.equal(first.unread, before + 1)
    const [shown, other] = [first, second].map(({ conversations }) => conversations[0])
    assert.deepEqual(shown.messages, other.messages)
    assert.deepEqual(shown.members, other.members)
    assert.deepEqual(shown.members.map(({ id }) => id), [first.me.id, me.id].sort())
    assert.deepEqual({ ...shown, members: [], messages: shown.messages.slice(-2) }, {
      id: conversation, title: 'Hikers', unread: 1, last_seq: shown.messages.length, members: [], ...noSettings,
      messages: [
        {
          seq: shown.last_seq - 1, sender: first.me.id, content: 'Hello, all', deleted: false, edited: true,
          delivery: 'sent', ...noDetails,
        },
        {
          seq: shown.last_seq, sender: me.id, content: 'Hi', deleted: false, edited: false, delivery: 'sent',
          ...noDetails,
        },
      ],
    })
    await alice.do('markRead', { conversation })
    await alice.do('delete', { conversation })
    await alice.shows((state) => isSettled(state) && state.unread === before)
    await bob.shows(({ conversations }) => conversations[0].messages.some(({ deleted }) => deleted))
  })

  test('sends replies, reactions, pins and settings that were made offline', async (t) => {
    const { programs: [alice, bob], conversation } = await startTwo(t)
    await bob.do('send', { conversation, text: 'Lunch?' })
    await alice.shows((state) => contents(state, conversation).includes('Lunch?'))
    await alice.do('disconnect')
    const { me: { id } } = await bob.do('state')
    await alice.do('react', { conversation, emoji: '👍' })
    await alice.do('pin', { conversation })
    await alice.do('reply', { conversation, text: 'Yes', mentions: [id] })
    await alice.do('set', { conversation, settings: { is_archived: true, is_pinned: true } })
    const offline = await alice.do('state')
    const { messages: [lunch, yes], ...view } = offline.conversations[0]
    assert.equal(offline.pending, 4)
    assert.deepEqual([view.pinned_seqs, view.is_archived, view.is_pinned], [[1], true, true])
    assert.deepEqual(lunch.reactions, [{ emoji: '👍', count: 1, own: true }])
    assert.deepEqual([yes.reply_to, yes.mentions], [{ seq: 1, content: 'Lunch?', blocked: false }, [id]])
    await alice.relaunch()
    await alice.shows((state) => isSettled(state) && state.refused.length === 0)
    await bob.shows((state) => contents(state, conversation).join() === 'Lunch?,Yes')
    assert.equal(await world.sql(`select c.pinned_seqs, r.emoji, x.reply_to_seq
      from conversations c join message_reactions r on r.conversation_id = c.id
      join messages x on x.conversation_id = c.id and x.content = 'Yes' where c.id = '${conversation}'`), '{1}|👍|1')
    await assert.rejects(alice.do('set', { conversation, settings: { archived: true } }), { code: 'invalid_params' })
  })

  test('keeps everything when it is killed', async (t) => {
    const { programs: [alice, bob], conversation } = await startTwo(t)
    await alice.do('disconnect')
    for (const text of ['one', 'two']) await alice.do('send', { conversation, text })
    const [{ me }, { conversations: [{ messages }] }] = [await alice.do('state'), await alice.do('state')]
    assert.deepEqual(messages, ['one', 'two'].map((content) => {
      return { seq: null, sender: me.id, content, deleted: false, edited: false, delivery: 'pending', ...noDetails }
    }))
    await alice.relaunch()
    const sent = await alice.shows(isSettled)
    assert.deepEqual(sent.me, me)
    assert.deepEqual(sent.conversations[0].messages, messages.map((message, index) => {
      return { ...message, seq: index + 1, delivery: 'sent' }
    }))
    await bob.shows((state) => contents(state, conversation).join() === 'one,two')
  })

  test('sends each message once, however often it is killed', async (t) => {
    const { programs: [alice, bob], conversation } = await startTwo(t)
    const texts = Array.from({ length: 30 }, (_, index) => `number ${index}`)
    for (const [index, text] of texts.entries()) {
      await alice.do('send', { conversation, text })
      if (index % 5 === 4) await alice.relaunch()
    }
    await alice.shows(isSettled)
    const state = await bob.shows((each) => contents(each, conversation).length >= texts.length)
    assert.deepEqual(contents(state, conversation), texts)
  })

  test('shows all messages of a long conversation', async (t) => {
    const { programs: [alice, bob], conversation } = await startTwo(t)
    const { me: { id } } = await bob.do('state')
    await bob.do('disconnect')
    await world.sql(`insert into messages (conversation_id, sender_id, content)
      select '${conversation}', '${id}', 'number ' || n from generate_series(1, 230) n order by n`)
    await bob.do('connect')
    const expected = Array.from({ length: 230 }, (_, index) => `number ${index + 1}`)
    for (const each of [alice, bob]) {
      const state = await each.shows(({ live, conversations: [{ last_seq }] }) => live && last_seq === 230)
      assert.deepEqual(contents(state, conversation), expected)
    }
  })

  test('shows, retries and discards what the server refused', async (t) => {
    const { programs: [alice], conversation } = await startTwo(t)
    await alice.do('send', { conversation, text: 'a NUL: \0' })
    await alice.do('updateProfile', { fields: { bio: 'x'.repeat(100_000) } })
    const isRefused = ({ pending, refused }) => pending === 0 && refused.length === 2
    const { refused, conversations: [{ messages: [message] }] } = await alice.shows(isRefused)
    assert.deepEqual(refused, [{ code: 'invalid_params' }, { code: 'line_too_long' }])
    assert.equal(message.delivery, 'refused')
    await alice.do('retry')
    await alice.shows(isRefused)
    await alice.do('discard')
    const state = await alice.do('state')
    assert.deepEqual([state.refused, contents(state, conversation)], [[], []])
  })

  test('signs in again and again until the node is there', async (t) => {
    let refused = 0
    const server = createServer((near) => {
      if (refused < 3) {
        refused += 1
        return near.destroy()
      }
      const far = connect(Number(new URL(world.url).port), '127.0.0.1')
      near.on('error', () => far.destroy()).on('close', () => far.destroy())
      far.on('error', () => near.destroy()).on('close', () => near.destroy())
      near.pipe(far).pipe(near)
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    t.after(() => server.close())
    const carol = new Program(t, server.address().port)
    await carol.signIn('carol')
    assert.equal(refused, 3)
    assert.equal((await carol.shows(isSettled)).account, 'user')
  })

  test('signs out', async (t) => {
    const dave = start(t)
    await dave.signIn('dave')
    await dave.shows(isSettled)
    await dave.do('signOut')
    const signedOut = {
      account: 'signedOut', live: false, me: null, pending: 0, refused: [], unread: 0, blocked: [],
      conversations: [],
    }
    assert.deepEqual(await dave.do('state'), signedOut)
    await dave.relaunch()
    assert.deepEqual(await dave.do('state'), signedOut)
  })

  test('answers errors by their code', async (t) => {
    const { programs: [alice], conversation } = await startTwo(t)
    await assert.rejects(alice.do('dance'), { code: 'invalid_request' })
    await assert.rejects(alice.do('toString'), { code: 'invalid_request' })
    for (const name of ['edit', 'delete']) {
      await assert.rejects(alice.do(name, { conversation, text: 'x' }), { code: 'not_found' })
    }
    await assert.rejects(
      alice.do('open', { user: 'nobody' }), { code: 'invalid_params', field: 'user_id' })
    await alice.do('signOut')
    await assert.rejects(alice.do('send', { conversation, text: 'x' }), { code: 'signed_out' })
    await assert.rejects(
      alice.do('signIn', { email: 'alice@example.com', password: 'wrong' }), { code: 'invalid_credentials' })
  })

  test('ends with its input, also while the node is away', async (t) => {
    const server = createServer((socket) => socket.destroy())
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    t.after(() => server.close())
    const carol = new Program(t, server.address().port)
    const signIn = carol.signIn('carol')
    const refused = assert.rejects(signIn, { code: 'offline' })
    await once(server, 'connection')
    assert.equal(await carol.end(), 0)
    await refused
  })
})
