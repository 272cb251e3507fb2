/** @typedef {import('../types').ErrorCode} ServerErrorCode */
/**
 * The code of an error: the server's, or one that this package adds.
 *
 * - `offline`: there is no connection. A call may have been done all the same.
 * - `signed_out`: no user is signed in.
 * - `malformed_answer`: the server sent something that is not the protocol.
 * - `store_unusable`: the device's storage cannot be read or written.
 *
 * @typedef {ServerErrorCode | 'offline' | 'signed_out' | 'malformed_answer' | 'store_unusable'} PostlineErrorCode
 */
/**
 * @typedef {object} ErrorDetails
 * @property {string} [field] The path of the param at fault.
 * @property {number} [retryAfter] The seconds after which the call may succeed.
 * @property {boolean} [isRetryable] True if the same call may succeed later.
 * @property {any} [data] The server's `error.data`.
 */

/** An error of the server or of the connection to it. Switch on `code`. */
export class PostlineError extends Error {
  /**
   * @param {PostlineErrorCode} code
   * @param {string} message
   * @param {ErrorDetails} [details]
   */
  constructor(code, message, details = {}) {
    super(message)
    this.name = 'PostlineError'
    /** @type {PostlineErrorCode} */
    this.code = code
    this.field = details.field
    this.retryAfter = details.retryAfter
    this.isRetryable = details.isRetryable === true
    this.data = details.data
  }

  /**
   * Returns the error of a JSON-RPC response.
   *
   * @param {any} error
   */
  static fromResponse({ message, data }) {
    return new PostlineError(data?.code ?? 'internal_error', message, {
      field: data?.field, retryAfter: data?.retry_after, isRetryable: data?.retryable, data,
    })
  }

  /**
   * Returns the error that `toJSON` wrote, as storage and other tabs have it.
   *
   * @param {ReturnType<PostlineError['toJSON']>} stored
   */
  static fromJSON(stored) { return new PostlineError(stored.code, stored.message, stored) }

  /** Returns the error as plain data. */
  toJSON() {
    return { ...this, message: this.message }
  }
}

/** @param {string} [message] */
export function offlineError(message = 'There is no connection to the server.') {
  return new PostlineError('offline', message, { isRetryable: true })
}

/**
 * Returns the error of an argument.
 *
 * @param {string | undefined} field
 * @param {string} message
 */
export function invalidParams(field, message) { return new PostlineError('invalid_params', message, { field }) }

/**
 * Checks an argument.
 *
 * @param {any} isRight
 * @param {string} field
 * @param {string} what What the argument must be.
 * @throws {PostlineError} `invalid_params`
 */
export function check(isRight, field, what) {
  if (!isRight) throw invalidParams(field, `"${field}" must be ${what}.`)
}

/**
 * Returns the error of a storage that cannot be read or written.
 *
 * @param {any} error
 */
export function storeUnusable(error) {
  return new PostlineError('store_unusable', `The device's storage cannot be used: ${error?.message ?? error}`)
}

export function notSent() { return new PostlineError('not_found', 'The message is not sent yet.') }

/**
 * Returns true if the error's session is over and only a new sign-in helps.
 *
 * @param {unknown} error
 */
export function endsSession(error) {
  return error instanceof PostlineError && (error.code === 'session_revoked' || error.code === 'invalid_token')
}
