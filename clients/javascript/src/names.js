import { PostlineError } from './errors.js'

/** The options of `PostlineClient`. */
export const clientOptions = [
  'url', 'storage', 'WebSocket', 'accessToken', 'onLine', 'eraseOnSessionEnd', 'mediaURL', 'tabs',
]

/** The members of the ways to sign in. */
export const credentialNames = [
  'email', 'password', 'accessToken', 'guestAccessToken', 'identityToken', 'nonce', 'fullName',
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
  const known = `Its members are ${names.join(', ')}.`
  if (!object) throw new PostlineError('invalid_params', `${taker} needs an object. ${known}`)
  const field = Object.keys(object).find((name) => !names.includes(name))
  if (field === undefined) return
  throw new PostlineError('invalid_params', `${taker} takes no "${field}". ${known}`, { field })
}
