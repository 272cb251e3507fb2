import { PostlineError } from './errors.js'

/** Without progress for this time, the connection to the store is gone. */
const silenceTimeout = 30_000

/** @typedef {import('./picture.js').Picture} Picture */
/** @typedef {(method: string, params: object) => Promise<any>} Call */
/** @typedef {(url: string) => string | null | Promise<string | null>} MediaURL */
/**
 * @typedef {object} UploadOptions
 * @property {'avatar' | 'message'} purpose
 * @property {string} [conversationID]
 * @property {(part: number) => void} [onProgress] Called with the uploaded part, from 0 to 1.
 * @property {AbortSignal} [signal]
 * @property {MediaURL} [mediaURL]
 */

/**
 * Uploads a picture, and returns its id.
 *
 * @param {Call} call
 * @param {Picture} picture
 * @param {UploadOptions} options
 * @returns {Promise<string>}
 * @throws {PostlineError} The server's error, or `unavailable` (retryable) if the store did not take the picture.
 */
export async function upload(call, { blob, type, width, height }, options) {
  const { purpose, conversationID, onProgress = () => {}, signal, mediaURL = (url) => url } = options
  const created = await call('media.create', {
    purpose, mime_type: type, bytes: blob.size,
    ...(width && height && { width, height }), ...(conversationID && { conversation_id: conversationID }),
  })
  const url = await mediaURL(created.upload.url)
  if (!url) throw new PostlineError('forbidden', 'The app cannot reach the store of pictures.')
  signal?.throwIfAborted?.()
  const put = typeof XMLHttpRequest === 'function' ? putWithProgress : putByFetch
  await put({ ...created.upload, url }, blob, onProgress, signal)
  return created.id
}

/** @typedef {import('../types').MethodResults['media.create']['upload']} Target */

/**
 * @param {Target} target
 * @param {Blob} blob
 * @param {(part: number) => void} onProgress
 * @param {AbortSignal} [signal]
 */
async function putByFetch({ method, url, headers }, blob, onProgress, signal) {
  let response
  try {
    response = await fetch(url, { method, headers: withoutLength(headers), body: blob, signal })
  } catch (error) {
    if (signal?.aborted) throw error
    throw interrupted('The upload was interrupted.')
  }
  if (!response.ok) throw refused(response.status, await response.text())
  onProgress(1)
}

/**
 * By XMLHttpRequest, since fetch does not report the progress of an upload.
 *
 * @param {Target} target
 * @param {Blob} blob
 * @param {(part: number) => void} onProgress
 * @param {AbortSignal} [signal]
 * @returns {Promise<void>}
 */
function putWithProgress({ method, url, headers }, blob, onProgress, signal) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest()
    /** @type {ReturnType<typeof setTimeout>} */
    let silence
    const watch = () => {
      clearTimeout(silence)
      silence = setTimeout(() => {
        reject(interrupted('The upload came to a halt.'))
        request.abort()
      }, silenceTimeout)
    }
    const abort = () => {
      reject(signal?.reason)
      request.abort()
    }
    request.upload.onprogress = (event) => {
      watch()
      if (event.lengthComputable) onProgress(event.loaded / event.total)
    }
    request.onload = () => {
      if (request.status >= 200 && request.status < 300) resolve()
      else reject(refused(request.status, request.responseText))
    }
    request.onerror = () => reject(interrupted('The upload was interrupted.'))
    request.onloadend = () => {
      clearTimeout(silence)
      signal?.removeEventListener('abort', abort)
    }
    signal?.addEventListener('abort', abort)
    request.open(method, url)
    for (const [name, value] of Object.entries(withoutLength(headers))) request.setRequestHeader(name, value)
    watch()
    request.send(blob)
  })
}

/**
 * Browsers set the length themselves, and refuse to be told.
 *
 * @param {Record<string, string>} headers
 */
function withoutLength(headers) {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => name.toLowerCase() !== 'content-length'))
}

/** @param {string} message */
function interrupted(message) { return new PostlineError('unavailable', message, { isRetryable: true }) }

/**
 * Returns the store's error. A store other than the node sends XML, which is not shown.
 *
 * @param {number} status
 * @param {string} body
 */
function refused(status, body) {
  let message = `The store refused the picture with status ${status}.`
  try {
    message = JSON.parse(body).error.message ?? message
  } catch {
    // The status says it.
  }
  return new PostlineError(status >= 500 ? 'unavailable' : 'invalid_params', message, { isRetryable: status >= 500 })
}
