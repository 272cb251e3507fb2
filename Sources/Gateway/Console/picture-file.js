// The files that can be sent as pictures.

/// The types that every browser can draw.
export const accepted = 'image/jpeg,image/png,image/gif,image/webp,image/heic,image/avif,image/bmp'
const mostBytes = 40 * 2 ** 20

/// Returns what `scale` (`messagePicture` or `avatarPicture`) makes of a file. Throws an Error with a sentence.
export async function prepare(file, scale) {
  const refused = refusal(file)
  if (refused) throw new Error(refused)
  try {
    return await scale(file)
  } catch {
    throw new Error(`${file.name ? `“${file.name}”` : 'The picture'} cannot be read by this browser.`)
  }
}

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
