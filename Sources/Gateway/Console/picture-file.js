// Makes of a file what is sent: a picture that is not larger than anybody needs it.

const longest = 2048
const quality = 0.85
/// The types that every browser can draw.
const mostBytes = 40 * 2 ** 20
/// Up to here a picture that is no photograph stays as it is: sharp, transparent, or moving.
const fewBytes = 2 * 2 ** 20
const kept = ['image/png', 'image/gif', 'image/webp']

export const accepted = 'image/jpeg,image/png,image/gif,image/webp,image/heic,image/avif,image/bmp'

/// Returns the reason why a file cannot be sent, as a sentence, or null.
export function refusal(file) {
  const name = file.name ? `“${file.name}”` : 'This'
  // A drawing in SVG is a program rather than a picture.
  if (!file.type.startsWith('image/') || file.type.startsWith('image/svg')) {
    return `${name} is no picture that can be sent: take a JPEG, PNG, GIF or WebP.`
  }
  if (file.size > mostBytes) return `${name} is too large: a picture has 40 MB at most.`
  return file.size ? null : `${name} is empty.`
}

/// The picture as a message has it: `{blob, type, width, height}`. Throws an Error with a sentence.
///
/// A photograph is always drawn anew, so that where it was taken stays with whoever took it.
export async function forMessage(file) {
  const image = await read(file)
  try {
    const { width, height } = image
    if (kept.includes(file.type) && Math.max(width, height) <= longest && file.size <= fewBytes) {
      return { blob: file, type: file.type, width, height }
    }
    const scale = Math.min(1, longest / Math.max(width, height))
    return await drawn(image, { x: 0, y: 0, width, height }, at(width, scale), at(height, scale))
  } finally {
    image.close()
  }
}

/// The middle of the picture as an avatar has it: square, and not larger than it is shown anywhere.
export async function forAvatar(file, size = 512) {
  const image = await read(file)
  try {
    const side = Math.min(image.width, image.height)
    const part = { x: (image.width - side) / 2, y: (image.height - side) / 2, width: side, height: side }
    return await drawn(image, part, Math.min(size, side), Math.min(size, side))
  } finally {
    image.close()
  }
}

async function read(file) {
  const refused = refusal(file)
  if (refused) throw new Error(refused)
  try {
    return await createImageBitmap(file, { imageOrientation: 'from-image' })
  } catch {
    throw new Error(`${file.name ? `“${file.name}”` : 'The picture'} cannot be read by this browser.`)
  }
}

async function drawn(image, part, width, height) {
  const canvas = document.createElement('canvas')
  canvas.width = width
  canvas.height = height
  const context = canvas.getContext('2d')
  // JPEG has no transparency, and black is what it would be.
  context.fillStyle = '#ffffff'
  context.fillRect(0, 0, width, height)
  context.imageSmoothingQuality = 'high'
  context.drawImage(image, part.x, part.y, part.width, part.height, 0, 0, width, height)
  const blob = await new Promise((resolve) => canvas.toBlob(resolve, 'image/jpeg', quality))
  if (!blob) throw new Error('The picture cannot be made smaller by this browser.')
  return { blob, type: 'image/jpeg', width, height }
}

function at(length, scale) { return Math.max(1, Math.round(length * scale)) }
