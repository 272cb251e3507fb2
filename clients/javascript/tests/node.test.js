import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, request } from 'node:http'
import { after, before, describe, test } from 'node:test'
import { memoryStorage, messagePicture, PostlineClient } from '../src/index.js'
import { upload } from '../src/upload.js'
import { Cable } from './support/cable.js'
import { isLive, makeClient, makeConversation, makeUser, newEmail, password, shows, until } from './support/client.js'
import { startDevWorld } from './support/dev-world.js'

/** A picture of one pixel. */
const pixel = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5'
  + 'ErkJggg==', 'base64')

// What needs a real node: its methods, its feed, and its connections.
describe('With a node', () => {
  let world
  before(async () => { world = await startDevWorld() })
  after(() => world.stop())

  test('changes that psql makes arrive', async (t) => {
    const [ann, ben] = await Promise.all([makeUser(t, world.url, 'Ann'), makeUser(t, world.url, 'Ben')])
    const [annChat] = await makeConversation(ann, ben)
    await world.sql(`update user_profiles set full_name = 'Benjamin' where id = '${ben.account.id}'`)
    await until(ann, () => annChat.conversation.name === 'Benjamin', 'the new name')
    await until(ben, () => ben.me.full_name === 'Benjamin', 'the own new name')
  })

  test('1,000 messages in one transaction arrive in few notifications', async (t) => {
    const [ann, ben] = await Promise.all([makeUser(t, world.url, 'Ann'), makeUser(t, world.url, 'Ben')])
    const [annChat] = await makeConversation(ann, ben)
    let notifications = 0
    ann.subscribe(() => { notifications += 1 })
    await world.sql(`insert into messages (conversation_id, sender_id, content)
      select '${annChat.id}', '${ben.account.id}', 'number ' || n from generate_series(1, 1000) n order by n`)
    await until(ann, () => annChat.conversation.last_seq === 1000 && ann.state.name === 'live', 'all')
    assert.ok(notifications < 20, `${notifications} notifications`)
    while (annChat.hasOlder) await annChat.loadOlder()
    assert.deepEqual(annChat.messages.map(({ seq }) => seq), Array.from({ length: 1000 }, (_, index) => index + 1))
  })

  test('a send whose connection is lost arrives once, in order', async (t) => {
    const cable = await Cable.to(world.url)
    t.after(() => cable.close())
    const ann = await makeUser(t, cable.url, 'Ann')
    const ben = await makeUser(t, world.url, 'Ben')
    const [annChat, benChat] = await makeConversation(ann, ben)
    // Once the request is lost, once its answer.
    for (const direction of ['out', 'in']) {
      cable.cutWhen((way, data) => {
        return way === direction && (way === 'in' ? data.includes('"client_id":"') : data.length > 100)
      })
      await annChat.send(`first ${direction}`)
      await annChat.send(`second ${direction}`)
      await until(ann, () => cable.isCut && ann.state.name === 'offline', 'offline')
      cable.mend()
      ann.connect()
      await shows(annChat, `second ${direction}`, 'sent')
      await shows(benChat, `second ${direction}`)
    }
    assert.deepEqual(
      benChat.messages.map(({ content }) => content), ['first out', 'second out', 'first in', 'second in'])
    assert.equal(annChat.messages.length, 4)
  })

  test('what both users wrote while one was away arrives', async (t) => {
    const cable = await Cable.to(world.url)
    t.after(() => cable.close())
    const ann = await makeUser(t, cable.url, 'Ann')
    const ben = await makeUser(t, world.url, 'Ben')
    const [annChat, benChat] = await makeConversation(ann, ben)
    cable.cut()
    await until(ann, () => ann.state.name === 'offline', 'offline')
    await benChat.send('while away')
    await shows(benChat, 'while away', 'sent')
    await annChat.send('written away')
    cable.mend()
    ann.connect()
    await shows(annChat, 'written away', 'sent')
    await shows(annChat, 'while away')
    await shows(benChat, 'written away')
  })

  test('a guest becomes an account with the same id', async (t) => {
    const guest = makeClient(t, world.url)
    await guest.signInAsGuest({ fullName: 'Gus' })
    await isLive(guest)
    assert.deepEqual(guest.account.isGuest, true)
    const { id } = guest.account
    await guest.register({ email: newEmail(), password, fullName: 'Gustav' })
    assert.deepEqual(guest.account, { id, isGuest: false })
    await until(guest, () => guest.me.full_name === 'Gustav', 'the new name')
  })

  for (const way of ['a connection that was lost', 'disconnect()']) {
    test(`a guest's unsent changes are sent before the merge, after ${way}`, async (t) => {
      const cable = await Cable.to(world.url)
      t.after(() => cable.close())
      const [ann, ben] = await Promise.all([makeUser(t, world.url, 'Ann'), makeUser(t, world.url, 'Ben')])
      // The merge joins the guest's conversation with this one.
      const [annChat] = await makeConversation(ann, ben)
      const guest = makeClient(t, cable.url)
      await guest.signInAsGuest()
      await isLive(guest)
      const [guestChat] = await makeConversation(guest, ben)
      await guestChat.send('as a guest')
      await shows(guestChat, 'as a guest', 'sent')
      if (way === 'disconnect()') guest.disconnect()
      else cable.cut()
      await until(guest, () => guest.state.name === 'offline', 'offline')
      await guestChat.send('unsent')
      cable.cut()
      await assert.rejects(guest.signIn({ email: ann.me.email, password }), { code: 'offline' })
      assert.equal(guest.account.isGuest, true)
      cable.mend()
      const merged = await guest.signIn({ email: ann.me.email, password })
      assert.deepEqual(merged, { conversations: 1, messages: 2 })
      await isLive(guest)
      assert.equal(guest.me.full_name, 'Ann')
      await shows(annChat, 'unsent')
      assert.deepEqual(guest.refusedChanges, [])
    })
  }

  test('a sign-in connects after disconnect()', async (t) => {
    const client = makeClient(t, world.url)
    client.disconnect()
    await client.signIn({ email: 'alice@example.com', password })
    await isLive(client)
  })

  test('the wrong password is refused, and nobody is signed in', async (t) => {
    const client = makeClient(t, world.url)
    const credentials = { email: 'alice@example.com', password: 'wrong-password' }
    await assert.rejects(client.signIn(credentials), { code: 'invalid_credentials' })
    assert.equal(client.state.name, 'signed_out')
    await assert.rejects(client.updateProfile({ full_name: 'X' }), { code: 'signed_out' })
    await assert.rejects(client.openConversation(randomUUID()), { code: 'signed_out' })
    assert.equal((await client.call('server.info')).server, 'postline')
  })

  test('the access token works over HTTP, and a sign-out hides the data', async (t) => {
    const storage = memoryStorage()
    const ann = await makeUser(t, world.url, 'Ann', { storage })
    const first = await ann.accessToken()
    const headers = { Authorization: `Bearer ${first}` }
    const answer = await fetch(`${world.url}/v1/me.get`, { method: 'POST', headers })
    assert.equal((await answer.json()).id, ann.account.id)
    await ann.signOut()
    assert.equal(ann.state.name, 'signed_out')
    assert.equal(ann.conversations.length, 0)
  })

  test('a session that another device revokes ends', async (t) => {
    const ann = await makeUser(t, world.url, 'Ann')
    const other = makeClient(t, world.url)
    await other.signIn({ email: ann.me.email, password })
    await isLive(other)
    await ann.signOut({ everywhere: true })
    await until(other, () => other.state.name === 'signed_out', 'signed out')
    assert.equal(other.state.error.code, 'session_revoked')
  })

  test('groups change for all members', async (t) => {
    const [ann, ben, cleo] = await Promise.all(['Ann', 'Ben', 'Cleo'].map((name) => makeUser(t, world.url, name)))
    const id = await ann.createGroup('Hikers', [ben.account.id])
    const chat = ann.chat(id)
    await chat.load()
    assert.equal(chat.conversation.name, 'Hikers')
    await until(ben, () => ben.conversation(id), 'the group')
    await ann.call('conversations.add_members', { conversation_id: id, user_ids: [cleo.account.id], profiles: true })
    assert.equal(chat.conversation.users.length, 3)
    await until(cleo, () => cleo.conversation(id)?.users.length === 3, 'the group with its users')
    await ann.call('conversations.update', { conversation_id: id, title: 'Climbers' })
    await until(cleo, () => cleo.conversation(id).name === 'Climbers', 'the new title')
    await until(chat, () => chat.messages.some(({ event }) => event?.type === 'renamed'), 'the event')
    await ann.call('conversations.remove_member', { conversation_id: id, user_id: ben.account.id })
    await until(ben, () => !ben.conversation(id), 'removed')
    await cleo.call('conversations.remove_member', { conversation_id: id, user_id: cleo.account.id })
    assert.equal(cleo.conversation(id), null)
  })

  test('presence and typing are shown', async (t) => {
    const [ann, ben] = await Promise.all([makeUser(t, world.url, 'Ann'), makeUser(t, world.url, 'Ben')])
    const [annChat, benChat] = await makeConversation(ann, ben)
    await until(ann, () => ann.presence(ben.account.id)?.is_online, 'online')
    assert.equal(annChat.conversation.presence[ben.account.id].is_online, true)
    await benChat.setDraft('Dear Ann')
    await until(annChat, () => annChat.typing.length === 1, 'typing')
    ben.disconnect()
    await until(ann, () => ann.presence(ben.account.id)?.is_online === false, 'offline')
    assert.ok(ann.presence(ben.account.id).last_seen_at)
  })

  test('a picture is uploaded and sent, with its progress', async (t) => {
    const [ann, ben] = await Promise.all([makeUser(t, world.url, 'Ann'), makeUser(t, world.url, 'Ben')])
    const [annChat, benChat] = await makeConversation(ann, ben)
    const progress = []
    annChat.subscribe(() => progress.push(annChat.messages.at(-1)?.progress))
    const picture = await messagePicture(new Blob([pixel], { type: 'image/png' }))
    await annChat.sendPicture({ ...picture, name: 'pixel.png' }, { content: 'a pixel' })
    const queued = annChat.messages.at(-1)
    assert.ok(queued.preview.startsWith('blob:'))
    assert.equal(queued.filename, 'pixel.png')
    const sent = await shows(annChat, 'a pixel', 'sent')
    assert.equal(sent.id, queued.id)
    assert.equal(sent.preview, queued.preview)
    assert.ok(progress.includes(1), 'progress')
    const received = await shows(benChat, 'a pixel')
    const url = await ben.pictureURL(received.attachment)
    assert.deepEqual(Buffer.from(await (await fetch(url)).arrayBuffer()), pixel)
  })

  test('files of several kinds are sent as one message', async (t) => {
    const [ann, ben] = await Promise.all([makeUser(t, world.url, 'Ann'), makeUser(t, world.url, 'Ben')])
    const [annChat, benChat] = await makeConversation(ann, ben)
    const pdf = new File(['%PDF-1.7 a report'], 'Bericht für Ben.pdf', { type: 'application/pdf' })
    const text = new File(['a note'], 'note.txt', { type: 'text/plain; charset=utf-8' })
    const unknown = new File(['<svg>'], 'a.svg', { type: 'image/svg+xml' })
    const fake = new File(['no video'], 'fake.mp4', { type: 'video/mp4' })
    await annChat.sendFiles([pdf, text, unknown, fake])
    const queued = annChat.messages.at(-1)
    assert.equal(queued.kind, 'file')
    assert.equal(queued.previews.length, 4)
    assert.equal(queued.filename, 'Bericht für Ben.pdf')
    const sent = await until(annChat, () => {
      return annChat.messages.at(-1)?.delivery === 'sent' && annChat.messages.at(-1)
    }, 'sent')
    const received = await until(benChat, () => benChat.messages.at(-1), 'received')
    assert.deepEqual([sent.filename, received.filename], ['Bericht für Ben.pdf', 'Bericht für Ben.pdf'])
    assert.equal(benChat.conversation.last_message_kind, 'file')
    assert.deepEqual(received.attachments.map(({ name, mime_type, bytes }) => [name, mime_type, bytes]), [
      ['Bericht für Ben.pdf', 'application/pdf', 17], ['note.txt', 'text/plain', 6],
      ['a.svg', 'application/octet-stream', 5], ['fake.mp4', 'application/octet-stream', 8]])
    assert.equal(received.content, 'Bericht für Ben.pdf')
    const answer = await fetch(await ben.fileURL(received.attachments[0]))
    assert.equal(await answer.text(), '%PDF-1.7 a report')
    assert.match(
      answer.headers.get('Content-Disposition'), /^attachment; .*filename\*=UTF-8''Bericht%20f%C3%BCr%20Ben\.pdf$/)
  })

  test('uploaded files are sent and scheduled with the kind of the first', async (t) => {
    const [ann, ben] = await Promise.all([makeUser(t, world.url, 'Ann'), makeUser(t, world.url, 'Ben')])
    const [annChat, benChat] = await makeConversation(ann, ben)
    const call = (method, params) => ann.call(method, params)
    const options = { purpose: /** @type {const} */ ('message'), conversationID: annChat.id }
    const uploaded = async (content, type) => {
      return { mime_type: type, media_id: await upload(call, { blob: new Blob([content]), type }, options) }
    }
    const files = () => Promise.all([uploaded('OggS', 'audio/ogg'), uploaded('%PDF-1.7', 'application/pdf')])
    await annChat.send('', { attachments: await files() })
    const sent = await until(benChat, () => benChat.messages.at(-1), 'received')
    const types = ['audio/ogg', 'application/pdf']
    assert.deepEqual([sent.kind, sent.attachments.map(({ mime_type: type }) => type)], ['audio', types])
    const scheduled = await ann.schedule(annChat.id, '', new Date(Date.now() + 60_000), { attachments: await files() })
    assert.deepEqual([scheduled.kind, scheduled.attachments.map(({ mime_type: type }) => type)], ['audio', types])
  })

  test('a video has its length and preview, and its voice a waveform', async (t) => {
    const [ann, ben] = await Promise.all([makeUser(t, world.url, 'Ann'), makeUser(t, world.url, 'Ben')])
    const [annChat, benChat] = await makeConversation(ann, ben)
    const blob = new Blob(['\0\0\0\x18ftypisom\0\0\0\0isommp42'])
    const preview = await messagePicture(new Blob([pixel], { type: 'image/png' }))
    await annChat.sendFiles([{ blob, type: 'video/mp4', name: 'a.mp4', duration_ms: 1500, preview }])
    await until(annChat, () => annChat.messages.at(-1)?.delivery === 'sent', 'sent')
    const { kind, attachment } = await until(benChat, () => benChat.messages.at(-1), 'received')
    assert.deepEqual([kind, attachment.duration_ms], ['video', 1500])
    const picture = await fetch(await ben.previewURL(attachment))
    assert.deepEqual(Buffer.from(await picture.arrayBuffer()), pixel)
    assert.equal(await ben.previewURL(null), null)
    await annChat.sendFiles([{ blob: new Blob(['OggS']), type: 'audio/ogg', duration_ms: 900, waveform: 'AAEC' }])
    const voice = await until(benChat, () => benChat.messages.length === 2 && benChat.messages[1], 'received')
    assert.deepEqual([voice.kind, voice.content, voice.attachment.waveform], ['audio', '', 'AAEC'])
  })

  test('an interrupted upload continues where it stopped', async (t) => {
    const [ann, ben] = await Promise.all([makeUser(t, world.url, 'Ann'), makeUser(t, world.url, 'Ben')])
    const [annChat] = await makeConversation(ann, ben)
    const blob = new Blob(['%PDF-', 'x'.repeat(9_995)])
    const options = { purpose: /** @type {const} */ ('message'), conversationID: annChat.id }
    const call = (method, params) => ann.call(method, params)
    let begun
    const interrupting = new Error('interrupted')
    await assert.rejects(upload(call, { blob, type: 'application/pdf' }, {
      ...options,
      onBegin: (created) => {
        begun = created
        throw interrupting
      },
    }), interrupting)
    const first = await fetch(begun.upload.url, {
      method: 'PUT', headers: { ...begun.upload.headers, 'Content-Range': 'bytes 0-3999/10000' },
      body: blob.slice(0, 4000),
    })
    assert.deepEqual([first.status, first.headers.get('Upload-Offset')], [202, '4000'])
    const calls = []
    const counting = (method, params) => {
      calls.push(method)
      return call(method, params)
    }
    assert.equal(await upload(counting, { blob, type: 'application/pdf' }, { ...options, begun }), begun.id)
    // Also if only the answer was lost.
    assert.equal(await upload(counting, { blob, type: 'application/pdf' }, { ...options, begun }), begun.id)
    assert.deepEqual(calls, [])
    // One whose address has ended begins anew.
    const url = begun.upload.url.replace(/signature=../, 'signature=00')
    const ended = { ...begun, upload: { ...begun.upload, url } }
    assert.notEqual(await upload(counting, { blob, type: 'application/pdf' }, { ...options, begun: ended }), begun.id)
    assert.deepEqual(calls, ['media.create'])
  })

  test('an upload continues while the node still waits for the interrupted one', async (t) => {
    const [ann, ben] = await Promise.all([makeUser(t, world.url, 'Ann'), makeUser(t, world.url, 'Ben')])
    const [annChat] = await makeConversation(ann, ben)
    const blob = new Blob(['%PDF-', 'x'.repeat(9_995)])
    const call = (method, params) => ann.call(method, params)
    const begun = await call('media.create', {
      purpose: 'message', conversation_id: annChat.id, mime_type: 'application/pdf', bytes: 10_000,
    })
    const first = request(begun.upload.url, { method: 'PUT', headers: { 'Content-Length': '10000' } })
    t.after(() => first.destroy())
    const ended = once(first, 'response')
    first.write(Buffer.from(await blob.slice(0, 4000).arrayBuffer()))
    const options = { purpose: /** @type {const} */ ('message'), conversationID: annChat.id, begun }
    let id
    // The first request may be behind the question how much has arrived, and then the second is tried again.
    while (!id) {
      id = await upload(call, { blob, type: 'application/pdf' }, options).catch(({ code }) => {
        assert.equal(code, 'unavailable')
      })
    }
    assert.equal(id, begun.id)
    first.end(Buffer.alloc(6000))
    const [{ statusCode }] = await ended
    assert.ok(statusCode >= 400)
  })

  test('an upload that another request holds up is tried again', async (t) => {
    const store = createServer((_request, response) => response.writeHead(409).end('{}'))
    t.after(() => store.close())
    await new Promise((listening) => store.listen(0, '127.0.0.1', () => listening(null)))
    const url = `http://127.0.0.1:${/** @type {any} */ (store.address()).port}`
    const created = { id: '1', upload: { method: 'PUT', url, headers: {} } }
    const blob = new Blob(['x'])
    await assert.rejects(
      upload(async () => created, { blob, type: 'text/plain' }, { purpose: 'message' }),
      { code: 'unavailable', isRetryable: true })
  })

  test('what is no file, and more than ten, is refused before it is queued', async (t) => {
    const [ann, ben] = await Promise.all([makeUser(t, world.url, 'Ann'), makeUser(t, world.url, 'Ben')])
    const [annChat] = await makeConversation(ann, ben)
    const file = new Blob(['x'])
    const wrong = [[], Array(11).fill(file), [new Blob([])], ['x'], [null], [{ blob: 'x' }], file, null, undefined]
    for (const files of wrong) {
      await assert.rejects(annChat.sendFiles(/** @type {any} */ (files)), { code: 'invalid_params' })
    }
    assert.equal(annChat.messages.length, 0)
    // Such as the files of an input.
    await annChat.sendFiles(new Set([file]))
    assert.equal(annChat.messages.length, 1)
  })

  test('a picture that is no picture is refused before it is queued', async (t) => {
    const [ann, ben] = await Promise.all([makeUser(t, world.url, 'Ann'), makeUser(t, world.url, 'Ben')])
    const [annChat] = await makeConversation(ann, ben)
    for (const file of [new Blob(['text']), 'x.png', undefined, null, {}, { blob: 'x' }]) {
      await assert.rejects(annChat.sendPicture(/** @type {any} */ (file)), { code: 'invalid_params' })
      if (file !== null) await assert.rejects(ann.setAvatar(/** @type {any} */ (file)), { code: 'invalid_params' })
    }
    assert.equal(annChat.messages.length, 0)
    assert.equal(await ann.pictureURL(null), null)
  })

  test('a chat that is shown on sign-out marks nothing', async (t) => {
    const [ann, ben] = await Promise.all([makeUser(t, world.url, 'Ann'), makeUser(t, world.url, 'Ben')])
    const [annChat] = await makeConversation(ann, ben)
    await ann.signOut()
    await annChat.markRead()
    await assert.rejects(annChat.send('x'), { code: 'signed_out' })
  })

  test('misspelt options and members are refused by name', async (t) => {
    const { url } = world
    const client = makeClient(t, url)
    for (const options of [{ url, storge: memoryStorage() }, { uri: url }, {}, undefined]) {
      assert.throws(() => new PostlineClient(/** @type {any} */ (options)), { code: 'invalid_params' })
    }
    const account = { email: 'a@example.com', password: 'postline-dev', full_name: 'Ann' }
    await assert.rejects(client.register(/** @type {any} */ (account)), { field: 'full_name' })
    const credentials = { mail: 'a@example.com', password: 'x' }
    await assert.rejects(client.signIn(/** @type {any} */ (credentials)), { field: 'mail' })
  })

  test('an avatar is uploaded and shown to others', async (t) => {
    const [ann, ben] = await Promise.all([makeUser(t, world.url, 'Ann'), makeUser(t, world.url, 'Ben')])
    await makeConversation(ann, ben)
    await ann.setAvatar(new Blob([pixel], { type: 'image/png' }))
    assert.equal(ann.me.avatar_type, 'custom')
    const url = await until(ben, () => ben.profile(ann.account.id)?.avatar_url, 'the avatar')
    assert.equal((await fetch(url)).status, 200)
    await ann.setAvatar(null)
    assert.equal(ann.me.avatar_type, null)
  })

  test('a deleted account leaves nothing on the device', async (t) => {
    const storage = memoryStorage()
    const ann = await makeUser(t, world.url, 'Ann', { storage })
    const { id } = ann.account
    await ann.deleteAccount({ password })
    assert.equal(ann.state.name, 'signed_out')
    const database = await storage.open(`user/${id}`)
    assert.deepEqual(await database.read('setting'), [])
  })
})
