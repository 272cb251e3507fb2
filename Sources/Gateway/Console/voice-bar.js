// The bar that takes the place of the field while a voice message is recorded.

import { waveBars } from './bars.js'
import { h } from './dom.js'
import { icon } from './icons.js'
import { announce, toast } from './notice.js'
import { microphoneProblem, mostMilliseconds, Recording } from './recording.js'
import { length } from './time.js'

const barCount = 48

export class VoiceBar {
  #onSend
  #onClose
  #onProblem
  #recording = null
  /// True while the browser asks the user for the microphone.
  #isAsking = false
  /// Ends the listeners of keys.
  #keys
  #time = h('span', { class: 'voice-time', role: 'timer' })
  #note = h('span', { class: 'voice-note' })
  #wave = waveBars(barCount)
  #send
  element

  /// `onSend` is called with the recording as a file, `onClose` when the bar has gone, and `onProblem` with a sentence.
  constructor({ onSend, onClose, onProblem }) {
    this.#onSend = onSend
    this.#onClose = onClose
    this.#onProblem = onProblem
    this.#send = h('button', {
      class: 'send', type: 'button', 'aria-label': 'Send the voice message', title: 'Send the voice message',
      onclick: () => this.#finish(),
    }, icon('send'))
    this.element = h('div', {
      class: 'composer-line voice-bar', role: 'group', 'aria-label': 'Recording', hidden: true,
    },
    h('button', {
      class: 'icon-button', type: 'button', 'aria-label': 'Cancel the recording', title: 'Cancel (Esc)',
      onclick: () => this.#discard(),
    }, icon('trash')),
    h('span', { class: 'voice-mark' }), this.#time, this.#wave.element, this.#note, this.#send)
  }

  /// Asks for the microphone, and shows the bar once it is there. `isWanted` says then if it still is.
  async start(isWanted) {
    if (this.#isAsking || this.#recording) return false
    this.#isAsking = true
    try {
      const recording = await Recording.start({ onTick: () => this.#draw(), onEnd: () => this.#hasEnded(recording) })
      if (!isWanted()) {
        recording.cancel()
        return false
      }
      this.#recording = recording
    } catch (error) {
      this.#onProblem(microphoneProblem(error))
      return false
    } finally {
      this.#isAsking = false
    }
    this.#keys = new AbortController()
    // Before the page, for which Escape leads back.
    for (const target of [this.element.closest('.thread'), document]) {
      target.addEventListener('keydown', (event) => this.#key(event), { signal: this.#keys.signal })
    }
    this.element.hidden = false
    this.element.classList.remove('ended')
    this.#note.textContent = ''
    this.#draw()
    announce('Recording.')
    this.#send.focus()
    return true
  }

  /// Ends the recording without sending it, if there is one, because the user has gone elsewhere.
  abandon() {
    if (!this.#recording) return
    this.#close()
    toast('The recording was discarded.')
  }

  #discard() {
    this.#close()
    announce('The recording was discarded.')
  }

  #key(event) {
    if (event.key !== 'Escape' || event.defaultPrevented) return
    event.preventDefault()
    this.#discard()
  }

  async #finish() {
    const recording = this.#recording
    if (!recording || this.#send.disabled) return
    this.#send.disabled = true
    const file = await recording.end()
    this.#send.disabled = false
    if (this.#recording !== recording) return
    this.#close()
    if (file.blob.size) this.#onSend(file)
    else this.#onProblem('Nothing was recorded.')
  }

  #close() {
    this.#recording.cancel()
    this.#recording = null
    this.#keys.abort()
    this.element.hidden = true
    this.#onClose()
  }

  #draw() {
    if (!this.#recording) return
    // Another conversation or page has taken this one's place.
    if (!this.element.checkVisibility()) return this.abandon()
    const time = length(Math.floor(this.#recording.duration / 1000) * 1000)
    if (this.#time.textContent !== time) this.#time.textContent = time
    this.#wave.draw(this.#recording.levels.slice(-barCount))
  }

  /// Says why no more is recorded, if the user has not ended it.
  #hasEnded(recording) {
    if (this.#recording !== recording || this.#send.disabled) return
    this.#draw()
    this.element.classList.add('ended')
    this.#note.textContent = recording.duration === mostMilliseconds ? 'The longest possible' : 'The microphone is off'
    announce(`The recording has ended. ${this.#note.textContent}.`)
  }
}
