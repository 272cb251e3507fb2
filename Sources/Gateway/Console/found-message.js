// A message that the search has found: the part of its text with the words, highlighted.

import { h } from './dom.js'

/// How much of the text is shown before the first word.
const contextCharacters = 20

/// Returns the text in one line as children of an element, from shortly before the first word of the query on.
export function excerpt(text, query) {
  const line = text.replace(/\s+/g, ' ').trim()
  const matches = matchesOf(line, query)
  const first = matches[0]?.[0] ?? 0
  const blank = line.lastIndexOf(' ', Math.max(0, first - contextCharacters))
  const start = first > contextCharacters ? Math.max(blank + 1, 0) : 0
  const parts = start > 0 ? ['…'] : []
  let end = start
  for (const [from, to] of matches) {
    parts.push(line.slice(end, from), h('mark', {}, line.slice(from, to)))
    end = to
  }
  return [...parts, line.slice(end)]
}

/// Returns where the words of a query are in a text, compared without case and accents: [start, end] in order.
function matchesOf(text, query) {
  const { folded, places } = fold(text)
  const words = [...new Set(fold(query).folded.match(/[\p{L}\p{N}]+/gu) ?? [])]
  if (!words.length) return []
  // The longest first. Chinese and the like begin anywhere, other words at their beginning.
  const pattern = words.sort((a, b) => b.length - a.length).map((word) => {
    return /^[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u30ff\u3400-\u9fff\uac00-\ud7a3]/.test(word) ? word
      : `(?<![\\p{L}\\p{N}])${word}`
  }).join('|')
  return [...folded.matchAll(new RegExp(pattern, 'gu'))].map(({ index, 0: found }) => {
    return [places[index], places[index + found.length]]
  })
}

/// Returns a text as words are compared, and where each of its characters, and the end, is in the original.
function fold(text) {
  let folded = ''
  const places = []
  let place = 0
  for (const character of text) {
    const plain = character.normalize('NFKD').replace(/\p{Mn}/gu, '').normalize('NFC').toLowerCase()
      .replace('ß', 'ss')
    for (let index = 0; index < plain.length; index += 1) places.push(place)
    folded += plain
    place += character.length
  }
  return { folded, places: [...places, place] }
}
