import { PostlineError } from './errors.js'
import { canDraw, drawn, firstBytes, messagePicture } from './picture.js'

/** @typedef {import('./picture.js').Picture} Picture */

/** The types that the server accepts, with how their files begin: at a byte, this text. */
const signatures = /** @type {Record<string, [number, RegExp]>} */ ({
  'video/mp4': [4, /^ftyp(?!qt |mif1|msf1|he[iv]|avi)/], 'audio/mp4': [4, /^ftyp(?!qt |mif1|msf1|he[iv]|avi)/],
  'video/quicktime': [4, /^(ftypqt {2}|moov|mdat|wide|free|skip|pnot)/],
  'video/webm': [0, /^\x1aE\xdf\xa3[^]*webm/], 'audio/webm': [0, /^\x1aE\xdf\xa3[^]*webm/],
  'audio/mpeg': [0, /^(ID3|\xff[\xe2-\xe7\xea-\xef\xf2-\xf7\xfa-\xff])/], 'audio/ogg': [0, /^OggS/],
  'audio/wav': [0, /^R(IFF|F64)[^]{4}WAVE/], 'application/pdf': [0, /^%PDF-/],
  'application/zip': [0, /^PK(\x03\x04|\x05\x06|\x07\x08)/], 'text/plain': [0, /^/],
})

/** Other names of these types. */
const synonyms = /** @type {Record<string, string>} */ ({
  'audio/x-m4a': 'audio/mp4', 'audio/m4a': 'audio/mp4', 'audio/mp3': 'audio/mpeg', 'audio/x-wav': 'audio/wav',
  'audio/wave': 'audio/wav', 'video/x-m4v': 'video/mp4', 'application/x-zip-compressed': 'application/zip',
})

/** The time in which a browser reads the length of a video, and draws its first frame. */
const detailsTimeout = 5_000

/**
 * Returns any file as that of a message. A picture is scaled down as by `messagePicture`, unless it cannot be read. A
 * browser reads length and size of a video or an audio, and draws the first frame of a video.
 *
 * @param {Blob} file
 * @returns {Promise<Picture>}
 */
export async function messageFile(file) {
  if (file.type.startsWith('image/') && file.type !== 'image/svg+xml') {
    try {
      return await messagePicture(file)
    } catch (error) {
      // Sent as it is.
      if (!(error instanceof PostlineError)) throw error
    }
  }
  /** @type {string} */
  const name = /** @type {any} */ (file).name || 'file'
  const given = file.type.split(';')[0].toLowerCase()
  const type = synonyms[given] ?? given
  const begin = await firstBytes(file)
  const signature = signatures[type]
  // The server refuses a file that does not begin as its type does.
  if (!signature || !signature[1].test(begin.slice(signature[0]))) {
    return { blob: file, type: 'application/octet-stream', name }
  }
  return { blob: file, type, name, ...await details(file, type) }
}

/**
 * Returns the kind of a message that begins with a file.
 *
 * @param {{ type: string }} file
 * @returns {'image' | 'video' | 'audio' | 'file'}
 */
export function kindOf({ type }) {
  const kind = type.split('/')[0]
  return kind === 'image' || kind === 'video' || kind === 'audio' ? kind : 'file'
}

/**
 * Returns the params of a new message. Its kind is that of its first attachment, unless the options name another.
 *
 * @param {string} content
 * @param {import('./chat.js').SendOptions} options
 */
export function messageParams(content, options) {
  const first = options.attachments?.[0] ?? options.attachment
  return { content, ...first && { kind: kindOf({ type: first.mime_type ?? 'image/' }) }, ...options }
}

/**
 * Returns the length and the size of a video or an audio, as far as the browser can read it.
 *
 * @param {Blob} file
 * @param {string} type
 * @returns {Promise<Partial<Picture>>}
 */
async function details(file, type) {
  const kind = type.split('/')[0]
  if (!canDraw() || (kind !== 'video' && kind !== 'audio')) return {}
  const element = /** @type {HTMLVideoElement} */ (document.createElement(kind))
  const url = URL.createObjectURL(file)
  /** @param {string} name */
  const event = (name) => new Promise((resolve, reject) => {
    element.addEventListener(name, resolve, { once: true })
    element.addEventListener('error', reject, { once: true })
    setTimeout(reject, detailsTimeout)
  })
  /** @type {Partial<Picture>} */
  const known = {}
  try {
    element.muted = true
    element.preload = 'auto'
    element.src = url
    await event('loadedmetadata')
    if (Number.isFinite(element.duration)) known.duration_ms = Math.round(element.duration * 1000)
    const { videoWidth: width, videoHeight: height } = element
    if (kind === 'video' && width && height) {
      Object.assign(known, { width, height })
      const seeked = event('seeked')
      element.currentTime = Math.min(0.1, element.duration / 2 || 0)
      await seeked
      known.preview = await drawn(element, width, height)
    }
  } catch {
    // It is sent with what is known.
  } finally {
    element.removeAttribute('src')
    URL.revokeObjectURL(url)
  }
  return known
}
