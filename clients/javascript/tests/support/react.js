import { existsSync } from 'node:fs'
import module, { createRequire, register } from 'node:module'

/** The folder in which Debian installs packages of Node. */
const packages = '/usr/share/nodejs/'

export const hasReact = register !== undefined
  && ['react', 'react-test-renderer'].every((name) => existsSync(packages + name))

/** Resolves with React, its test renderer and the package's hooks, which import the same React. */
export async function loadReact() {
  // Debian's packages find each other in that folder.
  process.env.NODE_PATH = packages
  module.Module._initPaths()
  const require = createRequire(packages)
  const react = require.resolve('react')
  redirectImports({ react: `file://${react}` })
  globalThis.IS_REACT_ACT_ENVIRONMENT = true
  return { React: require('react'), renderer: require('react-test-renderer'), hooks: await import('../../react.js') }
}

/** Redirects imports of packages by name to files. */
export function redirectImports(files) {
  const hook = `const files = ${JSON.stringify(files)}
    export async function resolve(name, context, next) {
      if (!files[name]) return next(name, context)
      return { url: files[name], format: name === 'react' ? 'commonjs' : 'module', shortCircuit: true }
    }`
  register(`data:text/javascript,${encodeURIComponent(hook)}`)
}
