// A voice message: its waveform, which shows how far it has played.

import { resampled, waveBars, waveValues } from './bars.js'
import { h } from './dom.js'
import { icon } from './icons.js'
import { length } from './time.js'

const barCount = 40

/// Returns the view of a voice message. `play({ show, hide })` returns its audio, which plays, or null.
export function voicePlayer({ duration_ms: duration, waveform }, play) {
  let audio = null
  const wave = waveBars(barCount)
  const values = waveValues(waveform)
  if (values.length) wave.draw(resampled(values, barCount))
  const time = h('span', { class: 'voice-time' })
  const button = h('button', { class: 'card-icon voice-play', type: 'button', tabIndex: -1, onclick: () => toggle() })
  // Not every recording says how long it is.
  const seconds = () => (Number.isFinite(audio?.duration) ? audio.duration : (duration ?? 0) / 1000)
  const draw = () => {
    const at = audio?.currentTime ?? 0
    const isPlaying = Boolean(audio) && !audio.paused
    for (const [index, bar] of wave.bars.entries()) bar.classList.toggle('played', index < at / seconds() * barCount)
    time.textContent = length((at || seconds()) * 1000)
    if (button.dataset.playing === String(isPlaying)) return
    button.dataset.playing = isPlaying
    button.setAttribute('aria-label', `${isPlaying ? 'Pause' : 'Play'} the voice message`)
    button.replaceChildren(icon(isPlaying ? 'pause' : 'play'))
  }
  const view = h('span', { class: 'card voice' }, button, wave.element, time)
  const begin = async () => {
    button.disabled = true
    await play({
      show: (media) => {
        audio = media
        for (const event of ['timeupdate', 'durationchange', 'play', 'pause']) media.addEventListener(event, draw)
        media.addEventListener('ended', () => { media.currentTime = 0 })
        view.append(media)
        return view
      },
      hide: (media) => {
        media.remove()
        audio = null
        draw()
      },
    })
    button.disabled = false
  }
  const toggle = () => {
    if (!audio) return begin()
    if (audio.paused) audio.play().catch(() => {})
    else audio.pause()
  }
  wave.element.addEventListener('click', ({ clientX }) => {
    if (!audio) return begin()
    const { left, width } = wave.element.getBoundingClientRect()
    audio.currentTime = seconds() * Math.max(0, Math.min(1, (clientX - left) / width))
  })
  draw()
  return view
}
