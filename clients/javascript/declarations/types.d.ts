export * from '../types.js'
