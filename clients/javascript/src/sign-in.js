import { Connection } from './connection.js'
import { PostlineError } from './errors.js'
import { sessionOf } from './tokens.js'

/** @typedef {import('./tokens.js').Session} Session */
/** @typedef {import('./storage.js').Storage} Storage */
/** @typedef {{ conversations: number, messages: number }} MergeResult */
/**
 * How to sign in. A guest of this device is merged into the account, with its unsent changes.
 *
 * - by `email` and `password`;
 * - by an `accessToken` of the server that keeps the accounts, or a function that returns one whenever the last has
 *   expired; with `guestAccessToken` the guest of that server is merged;
 * - by Apple's `identityToken`, its `nonce`, and `fullName` for a new account.
 *
 * @typedef {{ email: string, password: string }
 *   | { accessToken: string | import('./tokens.js').AccessTokenProvider, guestAccessToken?: string }
 *   | { identityToken: string, nonce?: string, fullName?: string }} Credentials
 */
/** @typedef {import('./tokens.js').AccessTokenProvider} AccessTokenProvider */
/** @typedef {{ session: Session, merged: MergeResult | null, provider?: AccessTokenProvider }} SignIn */
/** @typedef {(connection: Connection, guest: Session | null) => Promise<SignIn>} SignInRequest */

/**
 * Runs an action with a connection of its own.
 *
 * @template Value
 * @param {Omit<import('./connection.js').ConnectionOptions, 'onPush'>} options
 * @param {(connection: Connection) => Promise<Value>} action
 */
export async function withConnection(options, action) {
  const connection = await Connection.open(options)
  try {
    return await action(connection)
  } finally {
    connection.close()
  }
}

/**
 * Signs in on a connection.
 *
 * @param {Connection} connection
 * @param {Credentials} credentials
 * @param {Session | null} guest The guest to merge.
 * @returns {Promise<SignIn>}
 * @throws {PostlineError}
 */
export async function signInWith(connection, credentials, guest) {
  if ('accessToken' in credentials) return signInByAccessToken(connection, credentials)
  if ('identityToken' in credentials) {
    const { identityToken, nonce, fullName } = credentials
    return requestTokens(connection, 'auth.apple', {
      identity_token: identityToken, ...nonce && { nonce }, ...fullName && { full_name: fullName },
    }, guest)
  }
  const { email, password } = credentials
  return requestTokens(connection, 'auth.login', { email, password }, guest)
}

/**
 * @param {Connection} connection
 * @param {string} method A method that returns tokens.
 * @param {object} params
 * @param {Session | null} [guest]
 * @returns {Promise<SignIn>}
 */
export async function requestTokens(connection, method, params, guest) {
  const token = guest?.refreshToken
  try {
    const tokens = await connection.call(method, token ? { ...params, guest_refresh_token: token } : params)
    return { session: sessionOf(tokens), merged: tokens.merged ?? null }
  } catch (error) {
    // The guest's session is over: it may have become this account by an upgrade whose answer was lost.
    if (!token || !(error instanceof PostlineError) || error.code !== 'invalid_token') throw error
    return requestTokens(connection, method, params)
  }
}

/**
 * @param {Connection} connection
 * @param {Extract<Credentials, { accessToken: any }>} credentials
 * @returns {Promise<SignIn>}
 */
async function signInByAccessToken(connection, { accessToken, guestAccessToken }) {
  const provider = typeof accessToken === 'function' ? accessToken : undefined
  const token = typeof accessToken === 'function' ? await accessToken() : accessToken
  if (!token) throw new PostlineError('invalid_token', 'The app has no access token.')
  const { user_id, is_guest } = await connection.call('session.authenticate', { access_token: token })
  const merged = guestAccessToken
    ? await connection.call('auth.merge_guest', { guest_access_token: guestAccessToken }) : null
  // The first connection of the session learns how long the token lasts.
  const session = { userID: user_id, isGuest: is_guest, accessToken: token, refreshToken: null, renewAt: Infinity }
  return { session, merged, provider }
}

/**
 * Returns the name of a user's database.
 *
 * @param {string} userID
 */
export function databaseName(userID) { return `user/${userID}` }

/**
 * Moves a guest's unsent changes and drafts to the account that it was merged into.
 *
 * @param {Storage} storage
 * @param {string} guestID
 * @param {string} userID
 */
export async function moveGuest(storage, guestID, userID) {
  if (guestID === userID) return
  const guest = await storage.open(databaseName(guestID))
  const user = await storage.open(databaseName(userID))
  const tables = /** @type {const} */ (['change', 'draft'])
  const writes = await Promise.all(tables.map(async (table) => {
    return (await guest.read(table)).map((value) => ({ table, key: value.key ?? value.id, value }))
  }))
  await user.write(writes.flat())
  await guest.erase()
  guest.close()
  user.close()
}
