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
 * @property {Created} [begun] An earlier attempt.
 * @property {(created: Created) => unknown} [onBegin] Called before the upload begins, with what a later attempt needs.
 */

/**
 * Uploads a file, and returns its id. An upload that was begun is continued where it was interrupted, if the store can
 * do that.
 *
 * @param {Call} call
 * @param {Picture} file
 * @param {UploadOptions} options
 * @returns {Promise<string>}
 * @throws {PostlineError} The server's error, or `unavailable` (retryable) if the store did not take the file.
 */
export async function upload(call, file, options) {
  const { blob, type, width, height } = file
  const { purpose, conversationID, onProgress = () => {}, signal, mediaURL = (url) => url, onBegin } = options
  /** @param {Target} target */
  const reachable = async (target) => {
    const url = await mediaURL(target.url)
    if (!url) throw new PostlineError('forbidden', 'The store cannot be reached.')
    signal?.throwIfAborted?.()
    return { ...target, url }
  }
  const put = typeof XMLHttpRequest === 'function' ? putWithProgress : putByFetch
  /** @param {Created} created */
  const putParts = async ({ id, upload: { method, part_bytes: size = 1 } }) => {
    // Each response but the last names a part at least.
    for (let rounds = blob.size / size + 2; rounds > 0; rounds--) {
      const { parts } = await call('media.parts', { id })
      if (!parts.length) return
      for (const { start, bytes, url, expires_at } of parts) {
        const target = await reachable({ method, url, headers: {}, expires_at })
        await put(target, blob.slice(start, start + bytes), 0,
          (ratio) => onProgress((start + ratio * bytes) / blob.size), signal)
      }
    }
  }
  /**
   * Uploads what the store does not have. False: the upload must begin anew.
   *
   * @param {Created} created
   * @param {boolean} [isBegun]
   */
  const send = async (created, isBegun) => {
    if (created.upload.part_bytes) {
      try {
        await putParts(created)
        return true
      } catch (error) {
        const { code } = /** @type {PostlineError} */ (error)
        if (code === 'not_found') return false
        // The store takes the file whole.
        if (code !== 'forbidden') throw error
      }
    }
    const target = await reachable(created.upload)
    const offset = isBegun ? await uploaded(target, signal) : 0
    if (offset === null) return false
    if (offset < blob.size) await put(target, blob, offset, onProgress, signal)
    return true
  }
  if (options.begun && (await send(options.begun, true))) return options.begun.id
  const created = await call('media.create', {
    purpose, mime_type: type, bytes: blob.size, width, height, conversation_id: conversationID,
    ...purpose === 'message' && sentName(file),
  })
  await onBegin?.(created)
  await send(created)
  return created.id
}

/**
 * Returns the name of a file as others see it. That of a photograph is its sender's business.
 *
 * @param {Picture} file
 */
export function sentName({ name, type }) {
  return name && !type.startsWith('image/') ? { name: name.slice(0, 255) } : {}
}

/** @typedef {import('../types').MethodResults['media.create']} Created */
/** @typedef {Created['upload']} Target */

/**
 * Returns how many bytes of a file the store has, or null if the upload must begin anew.
 *
 * @param {Target} target
 * @param {AbortSignal} [signal]
 */
async function uploaded({ url }, signal) {
  const response = await request(url, { method: 'HEAD', signal })
  const offset = response.headers.get('Upload-Offset')
  return response.ok && offset !== null ? Number(offset) : null
}

/**
 * @param {string} url
 * @param {RequestInit} options
 */
async function request(url, options) {
  try {
    return await fetch(url, options)
  } catch (error) {
    throw options.signal?.aborted ? error : interrupted()
  }
}

/**
 * Returns the headers of an upload that continues at a byte.
 *
 * @param {Target} target
 * @param {Blob} blob
 * @param {number} offset
 */
function headersOf({ headers }, blob, offset) {
  /** @type {Record<string, string>} */
  const range = offset ? { 'Content-Range': `bytes ${offset}-${blob.size - 1}/${blob.size}` } : {}
  return { ...withoutLength(headers), ...range }
}

/**
 * @param {Target} target
 * @param {Blob} blob
 * @param {number} offset
 * @param {(part: number) => void} onProgress
 * @param {AbortSignal} [signal]
 */
async function putByFetch(target, blob, offset, onProgress, signal) {
  const { method, url } = target
  const response = await request(url, {
    method, headers: headersOf(target, blob, offset), body: blob.slice(offset), signal,
  })
  if (!response.ok) throw refused(response.status, await response.text())
  onProgress(1)
}

/**
 * By XMLHttpRequest, since fetch does not report the progress of an upload.
 *
 * @param {Target} target
 * @param {Blob} blob
 * @param {number} offset
 * @param {(part: number) => void} onProgress
 * @param {AbortSignal} [signal]
 * @returns {Promise<void>}
 */
function putWithProgress(target, blob, offset, onProgress, signal) {
  const { method, url } = target
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest()
    /** @type {ReturnType<typeof setTimeout>} */
    let silence
    const watch = () => {
      clearTimeout(silence)
      silence = setTimeout(() => {
        reject(interrupted())
        request.abort()
      }, silenceTimeout)
    }
    const abort = () => {
      reject(signal?.reason)
      request.abort()
    }
    request.upload.onprogress = (event) => {
      watch()
      if (event.lengthComputable) onProgress((offset + event.loaded) / (offset + event.total))
    }
    request.onload = () => {
      if (request.status >= 200 && request.status < 300) resolve()
      else reject(refused(request.status, request.responseText))
    }
    request.onerror = () => reject(interrupted())
    request.onloadend = () => {
      clearTimeout(silence)
      signal?.removeEventListener('abort', abort)
    }
    signal?.addEventListener('abort', abort)
    request.open(method, url)
    for (const [name, value] of Object.entries(headersOf(target, blob, offset))) request.setRequestHeader(name, value)
    watch()
    request.send(blob.slice(offset))
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

function interrupted() {
  return new PostlineError('unavailable', 'The upload was interrupted.', { isRetryable: true })
}

/**
 * Returns the store's error. A store other than the node sends XML, which is not shown.
 *
 * @param {number} status
 * @param {string} body
 */
function refused(status, body) {
  let message = `The store refused the file with status ${status}.`
  try {
    message = JSON.parse(body).message ?? message
  } catch {
    // The status says it.
  }
  // 409: an earlier request of the file has not ended yet.
  const isRetryable = status >= 500 || status === 409
  return new PostlineError(isRetryable ? 'unavailable' : 'invalid_params', message, { isRetryable })
}
