// Links and mail addresses in the text of a message.

/// Characters that end an address: blanks, quotes, East Asian punctuation, and invisible characters, which could
/// make an address look like another.
const end = '\\s<>"“”„«»`|\\\\^\\u200b-\\u200f\\u202a-\\u202e\\u2060-\\u2069\\u3000-\\u3003\\u3008-\\u3011'
  + '\\uff01\\uff08\\uff09\\uff0c\\uff1a\\uff1b\\uff1f'
const word = '[\\p{L}\\p{N}]'
const host = `${word}(?:[\\p{L}\\p{N}-]*${word})?`
const mail = `[\\p{L}\\p{N}_%+-]+(?:\\.[\\p{L}\\p{N}_%+-]+)*@(?:${host}\\.)+\\p{L}{2,}`

/// A link begins where no word, path or address goes on. Scripts without blanks may stand before `https:`.
const candidate = new RegExp(
  `(?<![a-z0-9_@/:.%+-])(?<web>(?:https?://|www\\.)[^${end}]+)`
    + `|(?<![\\p{L}\\p{N}_@/:.%+-])(?:mailto:)?(?<mail>${mail})(?![\\p{L}\\p{N}_@-])`, 'giu')
const trailing = ".,:;!?'’‘…*"
const closers = { ')': '(', ']': '[', '}': '{' }

/// Splits the text into parts `{ text, href }`, in their order; `href` is undefined where the part is no link.
export function tokenize(text) {
  const parts = []
  let at = 0
  for (const { 0: found, index, groups } of text.matchAll(candidate)) {
    if (index < at) continue
    const link = groups.web ? trimmed(found) : found
    const href = groups.web ? webAddress(link) : mailAddress(groups.mail)
    if (!href) continue
    if (index > at) parts.push({ text: text.slice(at, index) })
    parts.push({ text: link, href })
    at = index + link.length
  }
  if (at < text.length) parts.push({ text: text.slice(at) })
  return parts
}

/// Removes what belongs to the sentence around the address: punctuation at its end, and all from a bracket on that has
/// no counterpart in it.
function trimmed(found) {
  const open = []
  let length = found.length
  for (let at = 0; at < length; at += 1) {
    const character = found[at]
    if (Object.values(closers).includes(character)) open.push({ character, at })
    else if (character in closers && open.pop()?.character !== closers[character]) length = at
  }
  length = Math.min(length, open[0]?.at ?? length)
  // A regular expression would try each of many dots as the start of the punctuation.
  while (length > 0 && trailing.includes(found[length - 1])) length -= 1
  return found.slice(0, length)
}

function webAddress(link) {
  const address = /^www\./i.test(link) ? `https://${link}` : link
  if (!URL.canParse(address)) return null
  const { protocol, hostname, username, password } = new URL(address)
  // A user before the host serves to make an address look like another.
  if (!['http:', 'https:'].includes(protocol) || username || password) return null
  if (!/^[[\p{L}\p{N}]/u.test(hostname)) return null
  // `www.` alone has to be followed by a name and its domain.
  return address === link || /^www\.[^.]+\..+$/i.test(hostname) ? address : null
}

function mailAddress(address) {
  const at = address.lastIndexOf('@')
  return `mailto:${encodeURIComponent(address.slice(0, at))}@${address.slice(at + 1)}`
}
