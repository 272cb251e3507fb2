// Puts a picture where media.create says.

import { place } from './picture-place.js'

/// Longer than this nothing moves only where the connection is gone without a word.
const silenceMilliseconds = 30_000

/// The picture did not arrive, and may be tried again.
export class UploadInterrupted extends Error {}

/// Resolves with the picture's id. `picture` is `{blob, type, width, height}`; `onProgress` is called with 0…1.
/// Throws what `link.call` throws, UploadInterrupted, or the signal's reason where it was cancelled.
export async function upload(link, picture, { purpose, conversationID, onProgress, signal }) {
  const { id, upload } = await link.call('media.create', {
    purpose, mime_type: picture.type, bytes: picture.blob.size, width: picture.width, height: picture.height,
    ...(conversationID && { conversation_id: conversationID }),
  })
  signal?.throwIfAborted()
  await put(upload, picture.blob, onProgress, signal)
  return id
}

/// By XMLHttpRequest, since fetch tells nothing of how far an upload has come.
function put({ method, url, headers }, blob, onProgress, signal) {
  return new Promise((resolve, reject) => {
    const address = place(url)
    if (!address) return reject(new Error('This page may not reach the store of pictures.'))
    const request = new XMLHttpRequest()
    let silence
    const listen = () => {
      clearTimeout(silence)
      silence = setTimeout(() => {
        request.abort()
        fail('The upload came to a halt.')
      }, silenceMilliseconds)
    }
    const cancel = () => {
      request.abort()
      reject(signal.reason)
    }
    const fail = (sentence) => reject(new UploadInterrupted(sentence))
    request.upload.onprogress = (event) => {
      listen()
      if (event.lengthComputable) onProgress?.(event.loaded / event.total)
    }
    request.onload = () => {
      if (request.status >= 200 && request.status < 300) resolve()
      else if (request.status >= 500) fail(reason(request))
      else reject(new Error(reason(request)))
    }
    request.onerror = () => fail('The upload was interrupted.')
    request.onloadend = () => {
      clearTimeout(silence)
      signal?.removeEventListener('abort', cancel)
    }
    signal?.addEventListener('abort', cancel)
    request.open(method, address)
    for (const [name, value] of Object.entries(headers)) {
      // The browser says how long it is, and lets nobody else say it.
      if (name.toLowerCase() !== 'content-length') request.setRequestHeader(name, value)
    }
    listen()
    request.send(blob)
  })
}

/// Returns the store's error. An external store sends XML, which is not shown.
function reason(request) {
  try {
    const { error } = JSON.parse(request.responseText)
    if (error?.message) return error.message
  } catch {
    // The status says it.
  }
  return `The store of pictures did not take it (${request.status}).`
}
