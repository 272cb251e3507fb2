// The attachments of a message: pictures, files that are played in place, and files to download.

import { h } from './dom.js'
import { sentence } from './errors.js'
import { icon } from './icons.js'
import { toast } from './notice.js'
import { fitted, messagePicture, uploadLine } from './picture-view.js'
import { length } from './time.js'
import { voicePlayer } from './voice-player.js'

/// What plays, as `{ media, view }` by media id: the element, and what it is in. A row that is drawn anew takes over
/// its own view.
const players = new Map()

/// Returns true if an attachment is shown as a picture: not one that was sent as a file.
export function isPicture(message, { mime_type: type }) {
  return !isSentAsFile(message) && (type ? type.startsWith('image/') : message.kind === 'image')
}

/// Returns true if the sender wants what could be shown to be downloaded.
function isSentAsFile({ kind, attachments }) {
  return kind === 'file' && /^(image|video|audio)\//.test(attachments[0]?.mime_type ?? '')
}

/// Returns the picture of a message that has nothing else, or null.
export function onlyPicture(message) {
  const { attachments } = message
  return attachments.length === 1 && isPicture(message, attachments[0]) ? attachments[0] : null
}

/// Returns the text of a message. The name of a file that stands for it is shown with the file.
export function captionOf({ kind, content, attachments }) {
  return ['video', 'audio', 'file'].includes(kind) && content === attachments[0]?.name ? '' : content
}

/// Returns the views of a message's attachments. `alt` says what a picture is.
export function attachmentViews(app, message, alt) {
  return message.attachments.map((attachment, index) => {
    if (!attachment.media_id) return card(attachment)
    if (!app.pictures.isOffered) {
      const what = isPicture(message, attachment) ? 'A picture' : 'A file'
      return h('span', { class: 'tombstone' }, `${what}, which this server does not show any more.`)
    }
    const preview = message.previews[index]
    if (isPicture(message, attachment)) return messagePicture(app, { ...message, attachment, preview }, alt)
    const view = isPlayed(message, attachment) ? player(app, attachment, preview) : download(app, attachment)
    view.dataset.file = index
    return view
  })
}

/// Returns the actions for the files of a message, which a menu has. `open` is called with the index of a file.
export function fileActions(message, open) {
  return message.attachments.map((attachment, index) => {
    if (!attachment.media_id || isPicture(message, attachment)) return null
    const [name, verb] = isPlayed(message, attachment) ? ['play', 'Play'] : ['down', 'Download']
    return { name, label: `${verb} ${nameOf(attachment)}`, run: () => open(index) }
  })
}

/// Plays, pauses or downloads a file of a message whose row this is.
export function openFile(row, index) {
  const view = row.querySelector(`[data-file="${index}"]`)
  const control = view?.querySelector('.voice-play') ?? view
  if (!(control instanceof HTMLMediaElement)) control?.click()
  else if (control.paused) control.play().catch(() => {})
  else control.pause()
}

/// Returns true if an attachment is played in place.
function isPlayed(message, { mime_type: type }) { return !isSentAsFile(message) && /^(video|audio)\//.test(type) }

/// The files of a message that is not sent yet, with how far their upload has come. `cancel` ends it.
export function sendingFiles(message, cancel) {
  return h('div', { class: 'sending-files' },
    message.attachments.map((attachment) => h('span', { class: 'card' }, face(iconOf(attachment), attachment))),
    uploadLine('sending-files-line', message, nameOf(message.attachment), cancel))
}

/// A video or an audio, which is loaded when it is played. One with a waveform has it.
function player(app, attachment, preview) {
  const { media_id: id, mime_type: type, waveform } = attachment
  const held = players.get(id)
  if (held?.view.isConnected) {
    // Moving an element stops it.
    if (!held.media.paused) queueMicrotask(() => held.media.play())
    return held.view
  }
  players.delete(id)
  const kind = type.startsWith('video/') ? 'video' : 'audio'
  /// Returns a playing element, or null after a toast that says why there is none. `show` returns the view that has it,
  /// and `hide` is called if the browser cannot play it.
  const play = async ({ show, hide }) => {
    const url = preview ?? await addressOf(app, attachment)
    if (!url) return null
    const media = h(kind, { src: url })
    media.addEventListener('error', () => {
      if (players.get(id)?.media === media) players.delete(id)
      hide(media)
      toast(`${nameOf(attachment)} cannot be played by this browser.`, 'bad')
    }, { once: true })
    media.addEventListener('play', () => {
      for (const other of players.values()) if (other.media !== media) other.media.pause()
    })
    players.set(id, { media, view: show(media) })
    media.play().catch(() => {})
    return media
  }
  if (waveform && kind === 'audio') return voicePlayer(attachment, play)
  const hasPoster = kind === 'video' && attachment.preview_media_id
  const button = h('button', {
    class: hasPoster ? 'picture poster' : 'card', type: 'button', tabIndex: -1,
    'aria-label': `Play ${nameOf(attachment)}`,
    onclick: () => play({
      show: (media) => {
        Object.assign(media, { className: 'player', controls: true, title: nameOf(attachment) })
        media.dataset.file = button.dataset.file
        if (kind === 'video' && attachment.width && attachment.height) fitted(media, attachment)
        button.replaceWith(media)
        return media
      },
      hide: (media) => media.replaceWith(button),
    }),
  })
  if (hasPoster) drawPoster(app, button, attachment)
  else button.append(...face('play', attachment))
  return button
}

/// Draws the first frame of a video, in the size that the video has.
function drawPoster({ pictures }, button, attachment) {
  const { preview_media_id: id, duration_ms: duration } = attachment
  button.append(
    h('img', { alt: '', decoding: 'async', draggable: false }),
    h('span', { class: 'picture-wait' }, icon('picture')),
    h('span', { class: 'poster-play' }, icon('play')),
    ...typeof duration === 'number' ? [h('span', { class: 'poster-length' }, length(duration))] : [])
  pictures.watch(fitted(button, attachment), { attachment: { media_id: id } })
}

function download(app, attachment) {
  return h('button', {
    class: 'card', type: 'button', tabIndex: -1, 'aria-label': `Download ${nameOf(attachment)}`,
    onclick: async () => {
      const url = await addressOf(app, attachment)
      if (!url) return
      h('a', { href: url, download: attachment.name ?? '', target: '_blank', rel: 'noopener noreferrer' }).click()
    },
  }, face('down', attachment))
}

/// Returns the URL of a file, or null after a toast that says why there is none.
async function addressOf(app, attachment) {
  try {
    const url = await app.client.fileURL(attachment, { renew: true })
    if (!url) toast('This file is gone.', 'bad')
    return url
  } catch (error) {
    toast(sentence(error, 'The file', 'A file needs a connection to be loaded.'), 'bad')
    return null
  }
}

/// An attachment from elsewhere is not fetched by this page: a user who wants it follows the link. Of an address that
/// the browser does not understand there is the text alone.
function card(attachment) {
  if (!URL.canParse(attachment.url)) {
    const name = attachment.name ?? attachment.url
    return h('span', { class: 'card' }, face(iconOf(attachment), { ...attachment, name }))
  }
  const url = new URL(attachment.url)
  const name = attachment.name ?? (decodeURIComponentOrNot(url.pathname.split('/').pop()) || url.host)
  return h('a', { class: 'card', href: url.href, target: '_blank', rel: 'noopener noreferrer', tabIndex: -1 },
    face(iconOf(attachment), { ...attachment, name }, url.host))
}

function face(symbol, attachment, place) {
  const { width, height, bytes, duration_ms: duration } = attachment
  const notes = [
    place, typeof duration === 'number' && length(duration), !duration && width && height && `${width} × ${height}`,
    bytes && size(bytes),
  ]
  return [
    h('span', { class: 'card-icon' }, icon(symbol)),
    h('span', { class: 'card-text' },
      h('span', { class: 'card-name', dir: 'auto' }, nameOf(attachment)),
      h('span', { class: 'card-note' }, notes.filter(Boolean).join(' · '))),
  ]
}

function iconOf({ mime_type: type }) { return !type || type.startsWith('image/') ? 'picture' : 'paperclip' }

function nameOf({ name, mime_type: type, waveform }) {
  const kind = type?.split('/')[0]
  return waveform ? 'Voice message'
    : name || (kind === 'audio' ? 'Audio' : kind === 'video' ? 'Video' : 'File')
}

/// Returns a size as in `3 KB` and `12.5 MB`.
export function size(bytes) {
  return bytes < 1_000_000 ? `${Math.max(1, Math.round(bytes / 1024)).toLocaleString('en')} KB`
    : `${(bytes / 2 ** 20).toLocaleString('en', { maximumFractionDigits: 1 })} MB`
}

function decodeURIComponentOrNot(part) {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
