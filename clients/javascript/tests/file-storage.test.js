import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { appendFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { describe, test } from 'node:test'
import { setImmediate } from 'node:timers'
import { fileURLToPath } from 'node:url'
import { fileStorage } from '../node.js'
import { PostlineClient } from '../src/index.js'
import { storageContract } from './support/storage-contract.js'
import { TestWebSocket } from './support/websocket.js'

const writer = fileURLToPath(new URL('support/storage-writer.js', import.meta.url))

describe('fileStorage', () => {
  for (const [name, check] of Object.entries(storageContract)) {
    test(name, (t) => check(fileStorage(makeFolder(t)), assert.deepEqual))
  }

  test('has the same values after it is opened again', async (t) => {
    const storage = fileStorage(makeFolder(t))
    const value = { session: Infinity, text: 'ä\n\u2028\ud83d', list: [null, -Infinity, { $blob: 1, __proto__: null }] }
    const picture = { list: [{ blob: new Blob(['bytes'], { type: 'image/png' }) }] }
    const database = await storage.open('a')
    await database.write([put('setting', 'a', value), put('setting', 'b', picture)])
    await closed(database)
    const [stored, { list: [{ blob }] }] = await (await storage.open('a')).read('setting')
    assert.deepEqual(stored, { ...value, list: [null, -Infinity, { $blob: 1 }] })
    assert.deepEqual([await blob.text(), blob.type], ['bytes', 'image/png'])
  })

  test('ignores a line without its end', async (t) => {
    const folder = makeFolder(t)
    const storage = fileStorage(folder)
    const database = await storage.open('a')
    await database.write([put('setting', 'a', 1)])
    const complete = readFileSync(journalOf(folder))
    await database.write([put('setting', 'a', 2), put('setting', 'b', 2)])
    await closed(database)
    const bytes = readFileSync(journalOf(folder))
    for (let size = complete.length; size < bytes.length; size += 1) {
      writeFileSync(journalOf(folder), bytes.subarray(0, size))
      const torn = await storage.open('a')
      assert.deepEqual(await torn.read('setting'), [1], `${size} bytes`)
      await torn.write([put('setting', 'c', 3)])
      await closed(torn)
      const repaired = await storage.open('a')
      assert.deepEqual(await repaired.read('setting'), [1, 3], `${size} bytes`)
      await closed(repaired)
    }
  })

  test('ignores zeros after the last line', async (t) => {
    const folder = makeFolder(t)
    const database = await fileStorage(folder).open('a')
    await database.write([put('setting', 'a', 1)])
    await closed(database)
    appendFileSync(journalOf(folder), Buffer.alloc(4096))
    assert.deepEqual(await (await fileStorage(folder).open('a')).read('setting'), [1])
  })

  test('refuses a file that is damaged before its end', async (t) => {
    const folder = makeFolder(t)
    const storage = fileStorage(folder)
    const database = await storage.open('a')
    for (const value of [1, 2, 3]) await database.write([put('setting', 'a', value)])
    await closed(database)
    const text = readFileSync(journalOf(folder), 'utf8')
    writeFileSync(journalOf(folder), text.replace('"value":2', '"value":4'))
    await assert.rejects(storage.open('a'), /damaged at byte/)
    assert.equal(readFileSync(journalOf(folder), 'utf8').length, text.length)
  })

  test('keeps all records when it is compacted', async (t) => {
    const folder = makeFolder(t)
    const storage = fileStorage(folder)
    const database = await storage.open('a')
    const text = 'x'.repeat(10_000)
    let written = 0
    for (let round = 0; round < 10; round += 1) {
      const writes = Array.from({ length: 40 }, (_, index) => put('message', `c/${index}`, { round, index, text }))
      written += JSON.stringify(writes).length
      await database.write([...writes, put('setting', `round ${round}`, round), put('change', 'a', new Blob(['b']))])
    }
    assert.ok(statSync(journalOf(folder)).size < written / 2, 'compacted')
    await closed(database)
    const again = await storage.open('a')
    const messages = await again.read('message')
    assert.deepEqual(messages.map(({ index }) => index).sort((a, b) => a - b), Array.from({ length: 40 }, (_, i) => i))
    assert.ok(messages.every(({ round, text: { length } }) => round === 9 && length === text.length))
    assert.deepEqual(await again.read('setting'), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    assert.equal(await (await again.read('change'))[0].text(), 'b')
    await again.write([put('setting', 'round 0', 'after')])
    await closed(again)
    assert.equal((await (await storage.open('a')).read('setting'))[0], 'after')
  })

  test('leaves no deleted session in the file', async (t) => {
    const folder = makeFolder(t)
    const database = await fileStorage(folder).open('device')
    await database.write([put('setting', 'session', 'a token')])
    await database.write([{ table: 'setting', key: 'session' }])
    assert.ok(!readFileSync(journalOf(folder, 'device'), 'utf8').includes('token'))
  })

  test('loses no resolved write when the process is killed', async (t) => {
    const folder = makeFolder(t)
    let count = 0
    for (const last of [3, 150, 300]) {
      const child = spawn(process.execPath, [writer, folder], { stdio: ['ignore', 'pipe', 'inherit'] })
      const ended = new Promise((resolve) => child.once('exit', resolve))
      for await (const line of createInterface({ input: child.stdout })) {
        count = Number(line)
        if (count >= last) child.kill('SIGKILL')
      }
      await ended
      const database = await fileStorage(folder).open('a')
      const [first, second] = await database.read('setting')
      // The last write may be stored although the process could not say so.
      assert.ok(first === count || first === count + 1, `${first} after ${count}`)
      assert.equal(second, first, 'one transaction')
      assert.equal((await database.read('message')).length, Math.min(first, 50))
      await closed(database)
    }
  })

  test('refuses a second process', async (t) => {
    const folder = makeFolder(t)
    const child = spawn(process.execPath, [writer, folder], { stdio: ['ignore', 'pipe', 'inherit'] })
    const ended = new Promise((resolve) => child.once('exit', resolve))
    await new Promise((resolve) => child.stdout.once('data', resolve))
    child.stdout.resume()
    const message = new RegExp(`in use by process ${child.pid}`)
    await assert.rejects(fileStorage(folder).open('a'), message)
    const client = new PostlineClient({
      url: 'ws://127.0.0.1:1/v1/line', storage: fileStorage(folder), WebSocket: TestWebSocket,
    })
    await assert.rejects(client.signIn({ email: 'a', password: 'b' }), { code: 'store_unusable', message })
    child.kill('SIGKILL')
    await ended
    await closed(await fileStorage(folder).open('a'))
    assert.deepEqual(readdirSync(folder), ['a.journal'])
  })

  test('serves several openers until the last one closes', async (t) => {
    const folder = makeFolder(t)
    const [first, second] = await Promise.all([fileStorage(folder).open('a'), fileStorage(folder).open('a')])
    await first.write([put('setting', 'a', 1)])
    first.close()
    first.close()
    await second.write([put('setting', 'b', 2)])
    assert.deepEqual(await second.read('setting'), [1, 2])
    await assert.rejects(first.write([put('setting', 'c', 3)]), /closed/)
  })

  test('lets only the owner read its files', { skip: process.platform === 'win32' }, async (t) => {
    const folder = join(makeFolder(t), 'new')
    await (await fileStorage(folder).open('user/a')).write([put('setting', 'a', 1)])
    assert.equal(statSync(folder).mode & 0o777, 0o700)
    const names = readdirSync(folder)
    assert.equal(names.length, 2)
    for (const name of names) assert.equal(statSync(join(folder, name)).mode & 0o777, 0o600, name)
  })
})

function put(table, key, value) { return { table, key, value } }

function makeFolder(test) {
  const folder = mkdtempSync(join(tmpdir(), 'postline-files-'))
  test.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

function journalOf(folder, name = 'a') { return join(folder, `${name}.journal`) }

/** Closes a database, and resolves once its file is closed. */
async function closed(database) {
  database.close()
  await new Promise(setImmediate)
}
