// What can go wrong with a request, as sentences for people.

/// The server refused a request.
export class RemoteError extends Error {
  constructor(error) {
    super(error.message)
    this.data = error.data ?? {}
    /// The stable name of docs/protocol.md, section 2.
    this.code = this.data.code
    this.isRetryable = this.data.retryable === true
    /// The param that is at fault, where there is one.
    this.field = this.data.field
  }
}

/// The connection ended before the answer came.
export class ConnectionLost extends Error {
  constructor(message = 'The connection was lost.', code = 0, goodbye = null) {
    super(message)
    this.code = code
    this.goodbye = goodbye
  }

  /// True if a new connection is worth a try, by the goodbye, or without one by the close code.
  get mayReconnect() {
    return this.goodbye ? this.goodbye.reconnect : this.code !== 1008 && this.code !== 1009
  }
}

/// The session is over, and nothing but a new sign-in helps.
export class SessionEnded extends Error {}

/// The error as one sentence; `label` is what the field at fault is called on the page.
export function sentence(error, label) {
  if (error instanceof ConnectionLost) return 'There is no connection at the moment. Try again when it is back.'
  if (!(error instanceof RemoteError)) return error.message
  switch (error.code) {
    case 'rate_limited': {
      const wait = Math.ceil(error.data.retry_after ?? 0)
      return wait > 1 ? `Too many attempts. Try again in ${wait} seconds.` : 'Too many attempts. Try again in a moment.'
    }
    case 'internal_error': {
      const incident = error.data.incident ? ` The server's log has it as ${error.data.incident}.` : ''
      return `Something went wrong on the server.${incident}`
    }
    case 'unavailable':
    case 'timeout':
      return 'The server is too busy to answer. Try again in a moment.'
    default: {
      // `"full_name" must be 1 to 100 characters.` speaks of the protocol; people know the label.
      const name = `"${error.field}"`
      return label && error.message.startsWith(name) ? label + error.message.slice(name.length) : error.message
    }
  }
}
