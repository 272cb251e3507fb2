// The files that can be sent, and those that can be sent as pictures.

/// The types that every browser can draw.
export const accepted = 'image/jpeg,image/png,image/gif,image/webp,image/heic,image/avif,image/bmp'
const mostBytes = 40 * 2 ** 20

/// Returns true if a file is a picture. A drawing in SVG is a program rather than a picture.
export function isPictureFile({ type }) { return type.startsWith('image/') && !type.startsWith('image/svg') }

/// Returns what `scale` (`messagePicture`, `messageFile` or `avatarPicture`) makes of a file. Throws an Error with a
/// sentence. `takesAll` is true if the file need not be a picture.
export async function prepare(file, scale, takesAll = false) {
  const refused = refusal(file, takesAll)
  if (refused) throw new Error(refused)
  try {
    return await scale(file)
  } catch {
    throw new Error(`${file.name ? `“${file.name}”` : 'The picture'} cannot be read by this browser.`)
  }
}

/// Returns the reason why a file cannot be sent, as a sentence, or null.
export function refusal(file, takesAll = false) {
  const name = file.name ? `“${file.name}”` : 'This'
  if (!takesAll && !isPictureFile(file)) {
    return `${name} is no picture that can be sent: take a JPEG, PNG, GIF or WebP.`
  }
  if (isPictureFile(file) && file.size > mostBytes) return `${name} is too large: a picture has 40 MB at most.`
  return file.size ? null : `${name} is empty.`
}
