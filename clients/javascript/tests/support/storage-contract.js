import { messageKey, messageRange } from '../../src/storage.js'

// What every storage guarantees (src/storage.js). It runs in Node and in browsers, so it has no assertions of its own.

/** @typedef {import('../../src/storage.js').Storage} Storage */
/**
 * The checks by name. Each gets a new storage and `equal(actual, expected)`.
 *
 * @type {Record<string, (storage: Storage, equal: (actual: any, expected: any) => void) => Promise<void>>}
 */
export const storageContract = {
  async 'returns what was written, in the order of the keys'(storage, equal) {
    const database = await storage.open('a')
    await database.write([put('conversation', 'b', { name: 'B' }), put('conversation', 'a', { name: 'A' })])
    equal(await database.read('conversation'), [{ name: 'A' }, { name: 'B' }])
    equal(await database.read('profile'), [])
  },

  async 'applies the writes of a transaction in order'(storage, equal) {
    const database = await storage.open('a')
    await database.write([
      put('draft', 'a', 1), put('draft', 'a', 2), put('draft', 'b', 1), { table: 'draft', key: 'b' },
    ])
    equal(await database.read('draft'), [2])
  },

  async 'reads ranges, and the last records of one'(storage, equal) {
    const database = await storage.open('a')
    await database.write([1, 2, 9, 10, 11, 100].map((seq) => put('message', messageKey('c1', seq), seq)))
    await database.write([put('message', messageKey('c0', 5), 'before'), put('message', messageKey('c2', 5), 'after')])
    equal(await database.read('message', messageRange('c1')), [1, 2, 9, 10, 11, 100])
    equal(await database.read('message', messageRange('c1', 2, 11)), [2, 9, 10])
    equal(await database.read('message', { ...messageRange('c1'), limit: 2 }), [11, 100])
    equal(await database.read('message', { ...messageRange('c1'), limit: 1 }), [100])
    equal(await database.read('message', { ...messageRange('c1'), limit: 50 }), [1, 2, 9, 10, 11, 100])
    equal(await database.read('message', { ...messageRange('c1', 9, 11), limit: 1 }), [10])
    equal(await database.read('message', { ...messageRange('none'), limit: 5 }), [])
  },

  async 'deletes ranges'(storage, equal) {
    const database = await storage.open('a')
    await database.write([1, 2, 3].map((seq) => put('message', messageKey('c1', seq), seq)))
    await database.write([put('message', messageKey('c2', 1), 'other')])
    await database.write([{ table: 'message', ...messageRange('c1', 2) }, put('message', messageKey('c1', 3), 'again')])
    equal(await database.read('message', messageRange('c1')), [1, 'again'])
    equal(await database.read('message', messageRange('c2')), ['other'])
  },

  async 'writes all of a transaction or nothing'(storage, equal) {
    const database = await storage.open('a')
    const writes = [put('setting', 'a', 1), put('setting', 'b', () => {})]
    const failed = await database.write(writes).then(() => false, () => true)
    equal(failed ? await database.read('setting') : [], [])
  },

  async 'keeps pictures'(storage, equal) {
    const database = await storage.open('a')
    await database.write([put('change', 'a', { picture: { blob: new Blob(['bytes'], { type: 'image/png' }) } })])
    const [{ picture }] = await database.read('change')
    equal([await picture.blob.text(), picture.blob.type], ['bytes', 'image/png'])
  },

  async 'keeps databases apart, and erases one'(storage, equal) {
    const [first, second] = [await storage.open('a'), await storage.open('b')]
    await first.write([put('setting', 'x', 'first'), put('message', messageKey('c', 1), 'm')])
    await second.write([put('setting', 'x', 'second')])
    await first.erase()
    equal(await first.read('setting'), [])
    equal(await first.read('message', messageRange('c')), [])
    equal(await second.read('setting'), ['second'])
  },

  async 'has the records of a large table'(storage, equal) {
    const database = await storage.open('a')
    const key = (index) => String(index).padStart(5, '0')
    await database.write(Array.from({ length: 3000 }, (_, index) => put('profile', key(index), { index })))
    await database.write([
      put('profile', key(7), { index: 'new' }), { table: 'profile', key: key(8) },
      put('profile', key(3000), { index: 3000 }),
    ])
    const expected = Array.from({ length: 3001 }, (_, index) => ({ index: index === 7 ? 'new' : index }))
    expected.splice(8, 1)
    equal(await database.read('profile'), expected)
    equal(await database.read('profile', { from: key(2), to: key(10), limit: 2 }), [{ index: 'new' }, { index: 9 }])
    await database.write(Array.from({ length: 3000 }, (_, index) => ({ table: 'profile', key: key(index) })))
    equal(await database.read('profile'), [{ index: 3000 }])
    database.close()
    equal(await (await storage.open('a')).read('profile'), [{ index: 3000 }])
  },

  async 'has the records after it is opened again'(storage, equal) {
    const database = await storage.open('a')
    await database.write([put('setting', 'x', 'kept')])
    database.close()
    equal(await (await storage.open('a')).read('setting'), ['kept'])
  },
}

function put(table, key, value) { return { table, key, value } }
