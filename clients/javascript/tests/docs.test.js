import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { chromiumPath, startChromium } from './support/chromium.js'
import { isLive, makeClient, makeConversation, makeUser, newEmail, password, shows, until } from './support/client.js'
import { startDevWorld } from './support/dev-world.js'
import { hasReact, loadReact, redirectImports } from './support/react.js'
import { TestWebSocket } from './support/websocket.js'

const file = (path) => new URL(path, import.meta.url)
const blocks = [...readFileSync(file('../../../docs/javascript.md'), 'utf8').matchAll(/^```(\w+)\n([^]*?)^```$/gm)]
  .map(([, language, code]) => ({ language, code }))
const AsyncFunction = (async () => {}).constructor

/** Returns the block of a language that contains a text. */
function block(language, text) {
  const found = blocks.filter((each) => each.language === language && each.code.includes(text))
  assert.equal(found.length, 1, `a block with ${text}`)
  return found[0].code
}

/** Runs a block with variables. */
function run(code, variables) { return new AsyncFunction(...Object.keys(variables), code)(...Object.values(variables)) }

describe('docs/javascript.md', () => {
  let world
  before(async () => {
    world = await startDevWorld()
    redirectImports({
      '@postline/client': file('../src/index.js').href, '@postline/client/react': file('../react.js').href,
      '@postline/client/node': file('../node.js').href,
    })
  })
  after(() => world.stop())

  test('has no block that is not tested', () => { assert.equal(blocks.length, 10) })

  test('an empty page becomes a chat', { skip: !chromiumPath && 'Chromium is not installed' }, async (t) => {
    const chromium = await startChromium()
    t.after(() => chromium.stop())
    chromium.connectTo(world.url)
    // The page's server passes connections on to the node, which has another port than that of `make run`.
    const html = block('html', 'indexedDBStorage')
    chromium.html = html.replace("'ws://127.0.0.1:7433/v1/line'", "'/'")
    assert.notEqual(chromium.html, html)
    const page = await chromium.open()
    assert.equal(await page.run(`const changed = (found) => new Promise((resolve) => {
        const check = () => { if (found()) { observer.disconnect(); resolve() } }
        const observer = new MutationObserver(check)
        observer.observe(document, { subtree: true, childList: true, characterData: true })
        check()
      })
      await changed(() => document.querySelector('#state').textContent === 'live')
      const list = document.querySelector('select')
      list.value = [...list.options].find(({ text }) => text.startsWith('Bob')).value
      list.onchange()
      const form = document.querySelector('form')
      form.text.value = 'Sent from the page.'
      form.requestSubmit()
      const lastText = () => document.querySelector('#messages').lastChild?.textContent ?? ''
      await changed(() => /: Sent from the page\\.\\s*$/.test(lastText()))
      return form.text.value`), '')
    assert.equal(await world.sql("select count(*) from messages where content = 'Sent from the page.'"), '1')
  })

  test('React components show a chat', { skip: !hasReact && 'React is not installed' }, async (t) => {
    const { React, renderer } = await loadReact()
    Object.assign(globalThis, { document: { visibilityState: 'visible' } })
    t.after(() => Reflect.deleteProperty(globalThis, 'document'))
    const { App } = await import(`data:text/javascript,${encodeURIComponent(block('js', 'PostlineProvider'))}`)
    const [ann, ben] = await Promise.all([makeUser(t, world.url, 'Ann'), makeUser(t, world.url, 'Ben')])
    const [annChat, benChat] = await makeConversation(ann, ben)
    let tree
    await renderer.act(async () => { tree = renderer.create(React.createElement(App, { client: ann })) })
    await renderer.act(async () => tree.root.findByType('button').props.onClick())
    await renderer.act(async () => { await tree.root.findAllByType('button').at(-1).props.onClick() })
    await shows(benChat, 'Hello')
    await renderer.act(async () => {
      await benChat.setDraft('Dear Ann')
      await until(annChat, () => annChat.typing.length, 'typing')
    })
    const texts = tree.root.findAllByType('p').map(({ children }) => children.join(''))
    assert.deepEqual(texts, ['Hello', 'Ben is typing …'])
    assert.match(tree.root.findByType('h1').children.join(''), /^Ben/)
    await renderer.act(async () => {
      await benChat.send('Hi')
      await until(benChat, () => benChat.messages.at(-1).is_read, 'read')
    })
    tree.unmount()
  })

  test('a bot answers, also what arrived while it was away', async (t) => {
    const email = newEmail()
    const account = makeClient(t, world.url)
    await account.register({ email, password, fullName: 'Echo' })
    const ann = await makeUser(t, world.url, 'Ann')
    const folder = mkdtempSync(join(tmpdir(), 'postline-bot-'))
    t.after(() => rmSync(folder, { recursive: true, force: true }))
    Object.assign(process.env, {
      CHAT_URL: world.url, BOT_EMAIL: email, BOT_PASSWORD: password, BOT_FOLDER: folder,
    })
    globalThis.WebSocket = TestWebSocket
    const start = async (number) => {
      // Each start is a module of its own.
      const code = `${block('js', 'BOT_EMAIL')}// Start ${number}`
      const { bot } = await import(`data:text/javascript,${encodeURIComponent(code)}`)
      t.after(() => bot.close())
      await isLive(bot)
      return bot
    }
    const bot = await start(1)
    const chat = ann.chat(await ann.openConversation(account.account.id))
    await chat.load()
    await chat.send('/echo Is anybody there?')
    await shows(chat, 'Is anybody there?')
    await bot.close()
    await chat.send('/echo Are you back?')
    await shows(chat, '/echo Are you back?', 'sent')
    // Signed in already, so it needs none of these.
    Object.assign(process.env, { BOT_EMAIL: '', BOT_PASSWORD: '' })
    await start(2)
    await shows(chat, 'Are you back?')
    assert.deepEqual(chat.messages.map(({ content }) => content), [
      '/echo Is anybody there?', 'Is anybody there?', '/echo Are you back?', 'Are you back?',
    ])
  })

  test('methods are called', async (t) => {
    const client = makeClient(t, world.url)
    await client.signIn({ email: 'dave@example.com', password })
    await isLive(client)
    await run(block('js', 'profiles.search'), { client })
    assert.ok(client.conversations.some(({ name, muted_until }) => name.startsWith('Carol') && muted_until))
  })

  test('a group is made, changed and left', async (t) => {
    const users = await Promise.all(['Ann', 'Bob', 'Carol'].map((name) => makeUser(t, world.url, name)))
    const [client, bob] = users
    const [, bobID, carolID] = users.map(({ account }) => account.id)
    await run(block('js', 'createGroup'), { client, bobID, carolID })
    await until(bob, () => bob.conversations[0]?.name === 'Trip to Rome' && bob.conversations[0].users.length === 1,
      'the group without the others')
    assert.deepEqual(client.conversations, [])
  })

  test('a user signs in and out', async (t) => {
    const client = makeClient(t, world.url)
    await run(block('js', 'client.register'), { client, email: newEmail(), guestEmail: newEmail(), password })
    assert.equal(client.account.isGuest, false)
    await until(client, () => client.me?.full_name === 'Robin', 'the name')
  })

  test('a chat sends, edits and loads', async (t) => {
    const [ann, ben] = await Promise.all([makeUser(t, world.url, 'Ann'), makeUser(t, world.url, 'Ben')])
    const [annChat, benChat] = await makeConversation(ann, ben)
    // The block edits a message that the server has.
    await annChat.send('First')
    await shows(annChat, 'First', 'sent')
    await run(block('js', 'client.chat(conversationID)'), { client: ann, conversationID: annChat.id })
    await shows(benChat, 'Hello, all')
    assert.equal(annChat.draft, 'Dear Bob')
  })

  test('a chat replies, reacts and pins', async (t) => {
    const [ann, ben] = await Promise.all([makeUser(t, world.url, 'Ann'), makeUser(t, world.url, 'Ben')])
    const [annChat, benChat] = await makeConversation(ann, ben)
    await benChat.send('Lunch?')
    await shows(annChat, 'Lunch?')
    await run(block('js', 'chat.react'), { client: ann, chat: annChat, bobID: ben.account.id })
    await until(ann, () => ann.pendingCount === 0, 'sent')
    assert.equal(ann.refusedChanges.length, 0)
    const reply = await shows(benChat, 'Yes, @bob')
    assert.deepEqual([reply.reply_to.seq, reply.mentions], [1, [ben.account.id]])
    await until(benChat, () => benChat.conversation.pinned_seqs.length, 'the pin')
    // A push of before the settings may follow their response.
    await until(annChat, () => annChat.conversation.is_pinned && annChat.conversation.is_marked_unread, 'the settings')
  })

  test('messages are searched', async (t) => {
    const [ann, ben] = await Promise.all([makeUser(t, world.url, 'Ann'), makeUser(t, world.url, 'Ben')])
    const [annChat, benChat] = await makeConversation(ann, ben)
    for (let count = 1; count <= 21; count += 1) await benChat.send(`Lunch, tomorrow at ${count}?`)
    await shows(annChat, 'Lunch, tomorrow at 21?')
    const shown = []
    const console = { log: (...texts) => shown.push(texts.join(': ')) }
    await run(block('js', 'searchMessages'), { client: ann, chat: annChat, bobID: ben.account.id, console })
    assert.equal(shown.length, 20)
    assert.equal(shown[0], 'Ben: Lunch, tomorrow at 21?')
  })

  test('a user is blocked and unblocked', async (t) => {
    const [client, bob] = await Promise.all([makeUser(t, world.url, 'Ann'), makeUser(t, world.url, 'Bob')])
    const chat = client.chat(await client.createGroup('Trip', [bob.account.id]))
    await until(bob, () => bob.conversation(chat.id), 'the group')
    await bob.chat(chat.id).send('An insult')
    await shows(chat, 'An insult')
    const shown = []
    const console = { log: (...texts) => shown.push(texts) }
    await run(block('js', 'client.block'), { client, chat, bobID: bob.account.id, console })
    assert.deepEqual(shown, [[[bob.account.id], ['Message from a blocked user']]])
    assert.deepEqual([client.blocked, chat.messages[0].is_blocked], [[], false])
  })
})
