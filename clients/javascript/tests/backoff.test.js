import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Backoff } from '../src/backoff.js'

describe('Backoff', () => {
  test('doubles up to its limit, with a random half', () => {
    const longest = new Backoff(500, 30_000, () => 1)
    assert.deepEqual(
      Array.from({ length: 8 }, () => longest.next()), [500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000])
    const shortest = new Backoff(500, 30_000, () => 0)
    assert.deepEqual([shortest.next(), shortest.next()], [250, 500])
    shortest.reset()
    assert.equal(shortest.next(), 250)
  })
})
