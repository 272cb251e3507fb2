// Writes to the folder of its argument until it is killed, and reports each write that has resolved.
import { writeSync } from 'node:fs'
import { fileStorage } from '../../node.js'

const database = await fileStorage(process.argv[2]).open('a')
const [last = 0] = await database.read('setting')
const text = 'x'.repeat(20_000)
for (let number = last + 1; ; number += 1) {
  // One transaction in several tables. It is long enough that the journal is compacted often.
  await database.write([
    { table: 'setting', key: 'first', value: number },
    { table: 'message', key: `c/${number}`, value: { number, text } },
    { table: 'message', key: `c/${number - 50}` },
    { table: 'setting', key: 'second', value: number },
  ])
  writeSync(1, `${number}\n`)
}
