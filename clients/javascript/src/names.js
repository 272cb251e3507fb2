import { PostlineError } from './errors.js'

/** The options of `PostlineClient`. */
export const clientOptions = [
  'url', 'storage', 'WebSocket', 'accessToken', 'onLine', 'eraseOnSessionEnd', 'mediaURL', 'tabs',
]

/**
 * Checks that an object has no unknown members, which may be misspelt ones.
 *
 * @param {string} taker The name of what takes the object.
 * @param {object} object
 * @param {string[]} names
 * @throws {PostlineError} `invalid_params`
 */
export function checkNames(taker, object, names) {
  const unknown = Object.keys(object ?? {}).find((name) => !names.includes(name))
  if (unknown === undefined && object) return
  const field = unknown === undefined ? {} : { field: unknown }
  const reason = unknown === undefined ? 'needs an object' : `takes no "${unknown}"`
  throw new PostlineError('invalid_params', `${taker} ${reason}. Its members are ${names.join(', ')}.`, field)
}
