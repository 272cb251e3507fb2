import { check, invalidParams } from './errors.js'

/**
 * A file to upload: `type` is a type that the server accepts. Of a video or an audio `duration_ms` and `waveform` are
 * shown to the receivers, and `preview` is a picture to show before the file.
 *
 * @typedef {{
 *   blob: Blob, type: string, width?: number, height?: number, name?: string, duration_ms?: number, waveform?: string,
 *   preview?: { blob: Blob, type: string, width?: number, height?: number }
 * }} Picture
 */

const longestSide = 2048
const quality = 0.85
/** A picture that is no photograph stays as it is up to this size: sharp, transparent or moving. */
const keptBytes = 2 * 2 ** 20
const keptTypes = ['image/png', 'image/gif', 'image/webp']

/**
 * Returns a file as the picture of a message: at most 2,048 pixels long. A photograph is always drawn again, which
 * removes where it was taken. Where there is no canvas, as in Node, the file is taken as it is.
 *
 * @param {Blob} file
 * @returns {Promise<Picture>}
 * @throws {PostlineError} `invalid_params` if the browser cannot read the file.
 */
export async function messagePicture(file) {
  const picture = await ofImage(file, (image) => {
    const { width, height } = image
    return keptTypes.includes(file.type) && Math.max(width, height) <= longestSide && file.size <= keptBytes
      ? { blob: file, type: file.type, width, height } : drawn(image, width, height, longestSide)
  })
  return { ...picture, name: /** @type {any} */ (file).name }
}

/**
 * Returns the middle square of a file as an avatar, at most 512 pixels wide.
 *
 * @param {Blob} file
 * @returns {Promise<Picture>}
 * @throws {PostlineError} `invalid_params` if the browser cannot read the file.
 */
export function avatarPicture(file) {
  return ofImage(file, (image) => {
    const { width, height } = image
    const side = Math.min(width, height)
    const size = Math.min(512, side)
    return draw(image, [(width - side) / 2, (height - side) / 2, side, side], size, size)
  })
}

/**
 * Makes a picture of what a browser reads of a file. Elsewhere the file is taken as it is.
 *
 * @param {Blob} file
 * @param {(image: ImageBitmap) => Picture | Promise<Picture>} make
 * @returns {Promise<Picture>}
 */
async function ofImage(file, make) {
  if (!canDraw()) return { blob: file, type: await pictureType(file) }
  const image = await read(file)
  try {
    return await make(image)
  } finally {
    image.close()
  }
}

/**
 * Returns what is to be uploaded of an argument.
 *
 * @param {Blob | Picture} file
 * @param {(file: Blob) => Promise<Picture>} make Called with a file as the user chose it.
 * @returns {Promise<Picture>}
 * @throws {PostlineError} `invalid_params`
 */
export async function pictureOf(file, make) {
  const picture = file instanceof Blob ? await make(file) : file
  check(picture?.blob instanceof Blob, 'file', 'a File, a Blob or a Picture')
  return picture
}

/**
 * Draws an image or a frame of a video as a picture, scaled down to a number of pixels.
 *
 * @param {ImageBitmap | HTMLVideoElement} image
 * @param {number} width
 * @param {number} height
 * @param {number} [longest]
 */
export function drawn(image, width, height, longest = 1024) {
  const scale = Math.min(1, longest / Math.max(width, height))
  const scaled = (/** @type {number} */ length) => Math.max(1, Math.round(length * scale))
  return draw(image, [0, 0, width, height], scaled(width), scaled(height))
}

export function canDraw() { return typeof createImageBitmap === 'function' && typeof document === 'object' }

/** @param {Blob} file */
async function read(file) {
  try {
    return await createImageBitmap(file)
  } catch {
    throw unusable('The file is not a picture that this browser can read.')
  }
}

/**
 * @param {ImageBitmap | HTMLVideoElement} image
 * @param {[x: number, y: number, width: number, height: number]} part
 * @param {number} width
 * @param {number} height
 * @returns {Promise<Picture>}
 */
async function draw(image, part, width, height) {
  const canvas = document.createElement('canvas')
  canvas.width = width
  canvas.height = height
  const context = canvas.getContext('2d')
  if (context) {
    // JPEG has no transparency, which would become black.
    context.fillStyle = '#ffffff'
    context.fillRect(0, 0, width, height)
    context.imageSmoothingQuality = 'high'
    context.drawImage(image, ...part, 0, 0, width, height)
  }
  const type = 'image/jpeg'
  const blob = await new Promise((/** @type {(blob: Blob | null) => void} */ resolve) => {
    canvas.toBlob(resolve, type, quality)
  })
  if (!blob) throw unusable('The browser cannot scale the picture down.')
  return { blob, type, width, height }
}

/**
 * How the files of each type begin.
 *
 * @type {[string, RegExp][]}
 */
const beginnings = [
  ['jpeg', /^\xff\xd8\xff/], ['png', /^\x89PNG/], ['gif', /^GIF8/], ['webp', /^RIFF[^]{4}WEBP/],
  ['heic', /^[^]{4}ftyp/],
]

/**
 * Returns the media type of a picture by its first bytes.
 *
 * @param {Blob} file
 */
async function pictureType(file) {
  const text = await firstBytes(file)
  const found = beginnings.find(([, beginning]) => beginning.test(text))
  if (found) return `image/${found[0]}`
  throw unusable('A picture is JPEG, PNG, WebP, GIF or HEIC.')
}

/**
 * Returns the first bytes of a file as characters.
 *
 * @param {Blob} file
 */
export async function firstBytes(file) {
  return String.fromCharCode(...new Uint8Array(await file.slice(0, 128).arrayBuffer()))
}

/** @param {string} message */
function unusable(message) { return invalidParams('picture', message) }
