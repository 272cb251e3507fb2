import { Blob, Buffer } from 'node:buffer'
import { createHash } from 'node:crypto'

/** @typedef {import('../src/storage.js').Write} Write */
/**
 * A value that JSON has not: its path in the writes, its kind, and what it is made from.
 *
 * @typedef {[path: string[], kind: 'blob' | 'number', content: any]} Special
 */

/**
 * Returns writes as a line of a journal: a checksum and JSON.
 *
 * @param {Write[]} writes
 * @returns {Promise<Uint8Array>}
 * @throws {TypeError} for a value that cannot be stored, such as a function.
 */
export async function encodeLine(writes) {
  /** @type {Special[]} */
  const specials = []
  findSpecials(writes, [], specials)
  for (const special of specials) {
    const [, kind, content] = special
    if (kind !== 'blob') continue
    special[2] = { type: content.type, base64: Buffer.from(await content.arrayBuffer()).toString('base64') }
  }
  const json = JSON.stringify(specials.length ? [writes, specials] : [writes])
  return Buffer.from(`${checksum(json)} ${json}\n`)
}

/**
 * Returns the writes of a line, or null if it is not complete.
 *
 * @param {string} line
 * @returns {Write[] | null}
 */
export function decodeLine(line) {
  const json = line.slice(17)
  if (line.slice(0, 17) !== `${checksum(json)} `) return null
  const [writes, specials = []] = JSON.parse(json)
  for (const [path, kind, content] of /** @type {Special[]} */ (specials)) {
    const name = /** @type {string} */ (path.pop())
    const parent = path.reduce((/** @type {any} */ value, each) => value[each], writes)
    parent[name] = kind === 'number' ? Number(content)
      : new Blob([Buffer.from(content.base64, 'base64')], { type: content.type })
  }
  return writes
}

/** @param {string} json */
function checksum(json) { return createHash('sha256').update(json).digest('hex').slice(0, 16) }

/**
 * Finds the values that JSON has not.
 *
 * @param {any} value
 * @param {string[]} path The path of the value, which is the same array for all.
 * @param {Special[]} specials Gets them, a blob itself as the content.
 */
function findSpecials(value, path, specials) {
  if (value === null || ['string', 'boolean', 'undefined'].includes(typeof value)) return
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) specials.push([[...path], 'number', String(value)])
  } else if (value instanceof Blob) {
    specials.push([[...path], 'blob', value])
  } else if (Array.isArray(value) || isPlain(value)) {
    for (const [name, each] of Object.entries(value)) {
      path.push(name)
      findSpecials(each, path, specials)
      path.pop()
    }
  } else throw new TypeError(`A ${typeof value} cannot be stored (${path.join('.')}).`)
}

/** @param {any} value */
function isPlain(value) {
  return typeof value === 'object' && [Object.prototype, null].includes(Object.getPrototypeOf(value))
}
