// The recording of a voice message with the microphone.

import { encodedWave, resampled } from './bars.js'

export const mostMilliseconds = 5 * 60_000
const tickMilliseconds = 100
const bitsPerSecond = 32_000
/// At most 128 are allowed.
const waveLength = 64

/// What a browser may record, the first that it can: other systems play AAC best, and Chromium's MP4 with Opus worst.
const types = ['audio/mp4;codecs=mp4a.40.2', 'audio/webm;codecs=opus', 'audio/webm', 'audio/mp4']

function recordedType() {
  // Without HTTPS a browser has no microphone, except on this machine.
  if (typeof MediaRecorder !== 'function' || !navigator.mediaDevices?.getUserMedia) return undefined
  return types.find((type) => MediaRecorder.isTypeSupported(type))
}

/// Returns true if the browser can record what the server accepts.
export function canRecord() { return recordedType() !== undefined }

/// Returns why a recording did not begin, as a sentence.
export function microphoneProblem({ name }) {
  switch (name) {
    case 'NotAllowedError':
    case 'SecurityError':
      return 'This page may not use the microphone. Allow it in the browser’s settings for this page, and try again.'
    case 'NotFoundError': return 'There is no microphone.'
    default: return 'The microphone cannot be used at the moment. Another program may be using it.'
  }
}

/// A recording that has begun. It ends by `end`, by `cancel`, after five minutes, or when the microphone is gone.
export class Recording {
  #stream
  #recorder
  #context = new AudioContext()
  #analyser
  #samples
  #parts = []
  #levels = []
  #startedAt = performance.now()
  #timer
  #ended
  duration = 0

  /// Asks for the microphone and begins. `onTick` is called every tenth of a second, and `onEnd` when it has ended.
  /// Throws the browser's error if there is no microphone or the user refuses it.
  static async start(callbacks) {
    const stream = await navigator.mediaDevices.getUserMedia({ audio: true })
    try {
      return new Recording(stream, callbacks)
    } catch (error) {
      stop(stream)
      throw error
    }
  }

  constructor(stream, { onTick, onEnd }) {
    this.#stream = stream
    this.#recorder = new MediaRecorder(stream, { mimeType: recordedType(), audioBitsPerSecond: bitsPerSecond })
    this.#analyser = new AnalyserNode(this.#context, { fftSize: 4096 })
    this.#samples = new Float32Array(this.#analyser.fftSize)
    this.#context.createMediaStreamSource(stream).connect(this.#analyser)
    this.#ended = new Promise((resolve) => {
      this.#recorder.addEventListener('stop', () => {
        this.#release()
        resolve()
        onEnd()
      })
    })
    this.#recorder.addEventListener('dataavailable', ({ data }) => this.#parts.push(data))
    this.#recorder.start()
    this.#timer = setInterval(() => {
      this.#measure()
      onTick()
      if (this.duration === mostMilliseconds) this.end()
    }, tickMilliseconds)
  }

  /// The loudness so far, a value from 0 to 255 for each tick.
  get levels() { return this.#levels }

  get hasEnded() { return this.#recorder.state === 'inactive' }

  /// Ends the recording, and returns it as the file of a message.
  async end() {
    if (!this.hasEnded) {
      this.#measure()
      this.#recorder.stop()
    }
    await this.#ended
    const type = this.#recorder.mimeType.split(';')[0]
    return {
      blob: new Blob(this.#parts, { type }), type, name: `Voice message${type === 'audio/mp4' ? '.m4a' : '.webm'}`,
      duration_ms: Math.round(this.duration),
      waveform: encodedWave(resampled(this.#levels, Math.min(waveLength, this.#levels.length))),
    }
  }

  cancel() { this.#release() }

  #measure() {
    this.duration = Math.min(mostMilliseconds, performance.now() - this.#startedAt)
    this.#analyser.getFloatTimeDomainData(this.#samples)
    const peak = this.#samples.reduce((most, sample) => Math.max(most, Math.abs(sample)), 0)
    // Of speech, which is seldom loud, the root makes more visible.
    this.#levels.push(Math.min(255, Math.round(255 * Math.sqrt(peak))))
  }

  /// Switches the microphone off.
  #release() {
    clearInterval(this.#timer)
    stop(this.#stream)
    this.#context.close().catch(() => {})
  }
}

function stop(stream) {
  for (const track of stream.getTracks()) track.stop()
}
