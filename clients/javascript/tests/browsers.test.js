import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { chromiumPath, startChromium } from './support/chromium.js'
import { firefoxPath, startFirefox } from './support/firefox.js'

const importPage = "const page = await import('/tests/support/page.js');"

testIn('Chromium', chromiumPath, startChromium)
testIn('Firefox', firefoxPath, startFirefox)

/** Tests the package in a browser. */
function testIn(name, path, start) {
  describe(`In ${name}`, { skip: !path && `${name} is not installed` }, () => {
    let browser
    before(async () => { browser = await start() })
    after(() => browser?.stop())

    test('indexedDBStorage fulfils the contract of storages', async () => {
      const page = await browser.open()
      assert.deepEqual(await page.run(`${importPage} return page.checkStorage()`), {})
      await page.close()
    })

    test('the database of an older client opens, and gets the new members', async () => {
      const page = await browser.open()
      assert.deepEqual(await page.run(`${importPage} return page.openOlder()`), {
        cursors: ['1', null], before: ['message of 0', [], {}], after: ['message 1', [1], { '👍': 1 }],
      })
      await page.close()
    })

    test('10,000 conversations are shown after a reload', async (t) => {
      const first = await browser.open()
      await first.run(`${importPage} await page.fill(10_000, 'start')`)
      await first.close()
      const page = await browser.open()
      const { milliseconds, newest } = await page.run(`${importPage} return page.measureStart(10_000, 'start')`)
      assert.equal(newest, 'message of 9999')
      t.diagnostic(`shown after ${Math.round(milliseconds)} ms`)
      await page.close()
    })

    test('1,000 changes are applied in one batch', async (t) => {
      const first = await browser.open()
      await first.run(`${importPage} await page.fill(10_000, 'batch')`)
      await first.close()
      const page = await browser.open()
      await page.run(`${importPage} await page.prepareBatch(1000, 'batch')`)
      const before = await page.threadTime?.()
      const { milliseconds, notifications } = await page.run('return applyBatch()')
      assert.equal(notifications, 1)
      t.diagnostic(`applied in ${Math.round(milliseconds)} ms`)
      // Firefox does not say.
      if (page.threadTime) t.diagnostic(`${Math.round(await page.threadTime() - before)} ms of the page's CPU time`)
      await page.close()
    })

    test('tabs share a connection by Web Locks, and another leads after a close', async () => {
      const first = await browser.open()
      await first.run(`${importPage} await page.openTab(true)`)
      const second = await browser.open()
      await second.run(`${importPage} await page.openTab(false)`)
      assert.equal(await second.run('return server.connections.length'), 0)
      await second.run(`const chat = client.chat(client.conversations[0].id)
        await chat.send('from the second tab')
        await until(chat, () => chat.messages[0]?.delivery === 'sent')`)
      assert.equal(await first.run("return server.calls('messages.send').length"), 1)
      await first.close()
      await second.run("await until(client, () => server.connections.length === 1 && client.state.name === 'live')")
      assert.equal(await second.run("return server.calls('sync.open')[0].cursor"), '1')
      await second.close()
    })

    test('a storage per tab survives a reload, and is deleted after a week', async () => {
      const page = await browser.open()
      assert.deepEqual(await page.run(`${importPage} return page.checkTabStorage()`), ['kept', []])
      await page.close()
    })

    test('pictures are scaled down, and small ones are kept', async () => {
      const page = await browser.open()
      const scale = (...all) => page.run(`${importPage} return page.scalePicture(...${JSON.stringify(all)})`)
      assert.deepEqual(
        await scale(4000, 1000, 'image/jpeg'), { type: 'image/jpeg', width: 2048, height: 512, isSame: false })
      assert.deepEqual(await scale(100, 50, 'image/png'), { type: 'image/png', width: 100, height: 50, isSame: true })
      await page.close()
    })
  })
}
