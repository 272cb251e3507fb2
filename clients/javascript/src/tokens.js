import { endsSession, PostlineError } from './errors.js'

/** @typedef {import('./connection.js').Connection} Connection */
/**
 * The signed-in user of the device. `renewAt` is by the device's clock, because the server's may differ.
 *
 * @typedef {{
 *   userID: string, isGuest: boolean, accessToken: string, refreshToken: string | null, renewAt: number
 * }} Session
 */
/** @typedef {() => string | null | Promise<string | null>} AccessTokenProvider */

/**
 * Returns the session of tokens.
 *
 * @param {import('../types').Tokens} tokens
 * @returns {Session}
 */
export function sessionOf({ access_token, refresh_token, expires_in, user_id, is_guest }) {
  return {
    userID: user_id, isGuest: is_guest, accessToken: access_token, refreshToken: refresh_token,
    renewAt: renewalTime(expires_in),
  }
}

/**
 * Tokens are renewed after 80 % of their time.
 *
 * @param {number} seconds
 */
function renewalTime(seconds) { return Date.now() + seconds * 800 }

/** The tokens of the signed-in user. It renews them, and never twice at the same time. */
export class TokenKeeper {
  /** @type {Promise<void> | null} */
  #renewal = null

  /**
   * @param {Session} session
   * @param {object} storage
   * @param {() => Promise<Session | null>} storage.load Returns the stored session, which another tab may have renewed.
   * @param {(session: Session) => Promise<void>} storage.save
   * @param {AccessTokenProvider} [provider] Returns a new access token of an external account.
   */
  constructor(session, { load, save }, provider) {
    this.session = session
    this.load = load
    this.save = save
    this.provider = provider
  }

  get isDue() { return Date.now() >= this.session.renewAt }

  get canRenew() { return this.provider !== undefined || this.session.refreshToken !== null }

  /**
   * Authenticates a connection, with renewed tokens if the old ones have expired. The server decides about that.
   *
   * @param {Connection} connection
   * @throws {PostlineError} `session_revoked` or `invalid_token` if the session is over.
   */
  async authenticate(connection) {
    if (this.isDue && this.canRenew) await this.renew(connection)
    try {
      await this.#authenticateOnce(connection)
    } catch (error) {
      if (!endsSession(error) && /** @type {any} */ (error).code !== 'token_expired') throw error
      await this.renew(connection)
      await this.#authenticateOnce(connection)
    }
  }

  /**
   * Renews the tokens. Calls at the same time share one renewal.
   *
   * @param {Connection} connection
   */
  renew(connection) {
    this.#renewal ??= this.#renewOnce(connection).finally(() => { this.#renewal = null })
    return this.#renewal
  }

  /** @param {Connection} connection */
  async #renewOnce(connection) {
    const stored = await this.load()
    if (stored?.userID === this.session.userID && stored.accessToken !== this.session.accessToken) {
      this.session = stored
      return
    }
    const { refreshToken } = this.session
    if (this.provider) {
      const accessToken = await this.provider()
      if (!accessToken) throw new PostlineError('invalid_token', 'The app has no access token.')
      await this.update({ ...this.session, accessToken, renewAt: Infinity })
    } else if (refreshToken) {
      await this.update(sessionOf(await connection.call('auth.refresh', { refresh_token: refreshToken })))
    } else {
      throw new PostlineError('invalid_token', 'The access token is no longer valid. Sign in with a new one.')
    }
  }

  /**
   * Replaces the tokens.
   *
   * @param {Session} session
   */
  async update(session) {
    // Used even if they cannot be stored: the old ones are no longer valid.
    this.session = session
    await this.save(session)
  }

  /** @param {Connection} connection */
  async #authenticateOnce(connection) {
    const { session } = this
    const answer = await connection.call('session.authenticate', { access_token: session.accessToken })
    if (answer.user_id !== session.userID) {
      throw new PostlineError('invalid_token', 'The access token is that of another user.')
    }
    if (session.refreshToken) return
    // How long an external token lasts is known only from the server.
    const { time } = await connection.call('server.info')
    session.renewAt = renewalTime((Date.parse(answer.expires_at) - Date.parse(time)) / 1000)
  }
}
