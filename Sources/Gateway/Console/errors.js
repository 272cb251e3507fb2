// Errors as sentences for people.

import { PostlineError } from './client/index.js'
import { full } from './time.js'

/// Returns an error as one sentence. `label` is the name of the field at fault on the page; `offline` says what needs a
/// connection.
export function sentence(error, label, offline = 'There is no connection at the moment. Try again when it is back.') {
  if (error.code === 'offline') return offline
  // Only the server's errors have data.
  if (!(error instanceof PostlineError) || !error.data) return error.message
  switch (error.code) {
    case 'rate_limited': {
      const wait = Math.ceil(error.retryAfter ?? 0)
      return wait > 1 ? `Too many attempts. Try again in ${wait} seconds.` : 'Too many attempts. Try again in a moment.'
    }
    case 'internal_error': {
      const incident = error.data.incident ? ` The server's log has it as ${error.data.incident}.` : ''
      return `Something went wrong on the server.${incident}`
    }
    case 'account_suspended': {
      const end = error.data.retry_at
      return end ? `This account is suspended until ${full(end)}.` : error.message
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
