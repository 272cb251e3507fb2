import { existsSync } from 'node:fs'
import module, { createRequire, register } from 'node:module'

/** The folder in which Debian installs packages of Node. */
const packages = '/usr/share/nodejs/'

export const hasReact = ['react', 'react-test-renderer'].every((name) => existsSync(packages + name)) && register !== undefined

/** Resolves with React, its test renderer and the package's hooks, which import the same React. */
export async function loadReact() {
  // Debian's packages find each other in that folder.
  process.env.NODE_PATH = packages
  module.Module._initPaths()
  const require = createRequire(packages)
  const react = require.resolve('react')
  const hook = `export async function resolve(name, context, next) {
    return name === 'react' ? { url: ${JSON.stringify(`file://${react}`)}, format: 'commonjs', shortCircuit: true } : next(name, context)
  }`
  register(`data:text/javascript,${encodeURIComponent(hook)}`)
  globalThis.IS_REACT_ACT_ENVIRONMENT = true
  return { React: require('react'), renderer: require('react-test-renderer'), hooks: await import('../../react.js') }
}
