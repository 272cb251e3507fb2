// Avatars as coloured chips. A built-in one has the catalogue's colour and its animal; a custom one is shown where the
// server keeps it. Pictures from elsewhere are not fetched: those, like none, are an initial on a colour that follows
// from the id.

import { h } from './dom.js'
import { icon } from './icons.js'
import { place } from './picture-place.js'

const animals = {
  fox: '🦊', otter: '🦦', owl: '🦉', panda: '🐼', whale: '🐳', turtle: '🐢', bee: '🐝', flamingo: '🦩', hedgehog: '🦔',
  penguin: '🐧', koala: '🐨', dragon: '🐲',
}
const colors = ['#b4552d', '#2f6f8f', '#7a4fa0', '#2e7d5b', '#a63d57', '#5a67b8', '#8a6d1f', '#3f7f7a']

/// The avatar of a person.
export function personChip(directory, userID, size) {
  const person = directory.person(userID)
  const color = directory.avatars.get(person?.avatar_id)?.color
  return pictureChip(customAvatar(person), chip(person?.avatar_id, color, directory.name(userID), userID, size))
}

/// Returns the URL of a person's avatar, or null if there is none that this page may show.
export function customAvatar(person) {
  return person?.avatar_type === 'custom' && person.avatar_url ? place(person.avatar_url) : null
}

/// The chip with a picture in the place of what is on it: from when it is there, and only where it is.
export function pictureChip(address, element) {
  if (!address) return element
  const image = h('img', { class: 'chip-picture', alt: '', draggable: false })
  const show = () => element.replaceChildren(image)
  image.addEventListener('load', show)
  image.src = address
  // One that was shown before is there at once, without an initial that flickers.
  if (image.complete && image.naturalWidth) show()
  return element
}

/// The avatar of a person, with a dot while that person is online.
export function presentChip(directory, userID, size) {
  const isOnline = directory.isOnline(userID)
  return h('span', { class: isOnline ? 'chip-frame online' : 'chip-frame' }, personChip(directory, userID, size),
    isOnline && h('span', { class: 'dot', role: 'img', 'aria-label': 'Online', title: 'Online' }))
}

/// The other one's avatar, with its dot; a group has its own.
export function conversationChip(directory, conversation, size) {
  const other = directory.other(conversation)
  if (other) return presentChip(directory, other, size)
  const element = chip(null, null, '', conversation.id, size)
  element.classList.add('chip-group')
  element.replaceChildren(icon('group'))
  return element
}

/// The initial as it would look on that avatar.
export function avatarChip(avatar, name, size) { return chip(avatar.id, avatar.color, name, avatar.id, size) }

/// An initial on the colour that follows from the id, or from the name where that is all that is known.
export function nameChip(name, size, id = name) { return chip(null, null, name, id, size) }

/// Returns a signature of a chip's appearance, which changes when it must be drawn again.
export function chipSignature(directory, userID) {
  const person = directory.person(userID)
  const color = directory.avatars.get(person?.avatar_id)?.color
  return `${directory.name(userID)}/${person?.avatar_id}/${color}/${customAvatar(person)}`
}

/// Returns the signature of a chip with a presence dot.
export function presentSignature(directory, userID) {
  return `${chipSignature(directory, userID)}/${directory.isOnline(userID)}`
}

function chip(avatarID, avatarColor, name, id, size = 'medium') {
  const color = avatarColor ?? colors[hash(id) % colors.length]
  const animal = avatarColor && animals[avatarID]
  const element = h('span', { class: `chip chip-${size}`, 'aria-hidden': 'true' }, animal ?? initial(name))
  if (animal) element.classList.add('chip-animal')
  element.style.setProperty('--chip', color)
  element.style.setProperty('--chip-ink', inkOn(color))
  return element
}

function initial(name) {
  return [...name].find((character) => /[\p{L}\p{N}]/u.test(character))?.toUpperCase() ?? '?'
}

function hash(text) {
  let sum = 2_166_136_261
  for (const byte of new TextEncoder().encode(text)) sum = Math.imul(sum ^ byte, 16_777_619) >>> 0
  return sum
}

/// White or black, whichever is the easier to read on the colour.
function inkOn(color) {
  const [red, green, blue] = [1, 3, 5].map((at) => {
    const part = parseInt(color.slice(at, at + 2), 16) / 255
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.3 ? '#16181d' : '#ffffff'
}
