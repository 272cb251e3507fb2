import { Backoff } from './backoff.js'
import { withConnection } from './sign-in.js'
import { Signal } from './signal.js'

/** @typedef {import('./storage.js').Database} Database */
/** @typedef {{ url: string, accessToken: string, refreshToken: string }} EndedSession */
/** The settings of the device with such names are sessions that the user signed out of. The names sort by time. */
const prefix = 'ended/'
/** The oldest sessions beyond this number are dropped. */
const maxSessions = 10

/** Ends sessions at the server that the user signed out of without a connection. */
export class EndedSessions {
  #wake = new Signal()
  #isRunning = false

  /**
   * @param {Omit<import('./connection.js').ConnectionOptions, 'onPush'>} options
   * @param {() => Database | null} device Returns the device's database, or null if this client must not connect.
   */
  constructor(options, device) {
    this.options = options
    this.device = device
  }

  /**
   * Returns the writes that keep the tokens of a session until the server has ended it.
   *
   * @param {Database} device
   * @param {import('./tokens.js').Session} session
   */
  async add(device, { accessToken, refreshToken }) {
    // Another server keeps the accounts, and ends their sessions.
    if (!refreshToken) return []
    const { url } = this.options
    const name = prefix + Date.now()
    const dropped = (await stored(device)).slice(0, 1 - maxSessions)
    return [...dropped.map(({ name }) => write(name)), write(name, { name, value: { url, accessToken, refreshToken } })]
  }

  /** Ends the stored sessions of this server, the oldest first, and waits while the server cannot be reached. */
  async run() {
    if (this.#isRunning) return this.#wake.signal()
    this.#isRunning = true
    const backoff = new Backoff()
    try {
      for (let device, next; (device = this.device()) && (next = await this.#next(device));) {
        const { name, value } = next
        try {
          await withConnection(this.options, (connection) => logOut(connection, value))
        } catch (error) {
          const { code, isRetryable } = /** @type {import('./errors.js').PostlineError} */ (error)
          if (isRetryable || code === 'internal_error') {
            await this.#wake.wait(backoff.next())
            continue
          }
          // The session has ended, or the server does not accept its tokens.
        }
        await device.write([write(name)])
      }
    } catch {
      // The storage cannot be used.
    } finally {
      this.#isRunning = false
    }
  }

  /** @param {Database} device */
  async #next(device) { return (await stored(device)).find(({ value }) => value.url === this.options.url) }
}

/**
 * @param {import('./connection.js').Connection} connection
 * @param {EndedSession} session
 */
async function logOut(connection, { accessToken, refreshToken }) {
  const authenticate = (/** @type {string} */ token) => connection.call('session.authenticate', { access_token: token })
  await authenticate(accessToken).catch(async () => {
    // The access token has expired, or there is no such session any more.
    await authenticate((await connection.call('auth.refresh', { refresh_token: refreshToken })).access_token)
  })
  await connection.call('auth.logout')
}

/**
 * Returns the sessions, the oldest first. `0` is the character after the slash of `prefix`.
 *
 * @param {Database} device
 * @returns {Promise<{ name: string, value: EndedSession }[]>}
 */
function stored(device) { return device.read('setting', { from: prefix, to: 'ended0' }) }

/**
 * @param {string} key
 * @param {any} [value]
 * @returns {import('./storage.js').Write}
 */
function write(key, value) { return { table: 'setting', key, value } }
