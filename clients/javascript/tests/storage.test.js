import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { memoryStorage } from '../src/index.js'
import { storageContract } from './support/storage-contract.js'

describe('memoryStorage', () => {
  for (const [name, check] of Object.entries(storageContract)) {
    test(name, () => check(memoryStorage(), assert.deepEqual))
  }
})
