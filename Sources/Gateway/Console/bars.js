// A waveform: the loudness of a recording over time, drawn as bars.

import { h } from './dom.js'

const loudest = 255

/// Returns `count` values that stand for all of them: of many the loudest of each part, of few each several times.
export function resampled(values, count) {
  const place = (index) => Math.floor(index * values.length / count)
  return Array.from({ length: count }, (_, index) => {
    return Math.max(...values.slice(place(index), Math.max(place(index) + 1, place(index + 1))))
  })
}

/// Returns the element of `count` bars, and `draw`, which is called with up to as many values from 0 to 255.
export function waveBars(count) {
  const bars = Array.from({ length: count }, () => h('span'))
  const draw = (values) => {
    for (const [index, bar] of bars.entries()) {
      bar.style.height = `${Math.max(8, (values[index] ?? 0) / loudest * 100)}%`
    }
  }
  draw([])
  return { element: h('span', { class: 'wave', 'aria-hidden': 'true' }, bars), bars, draw }
}

/// Returns the values of a waveform as attachments have it, in base64.
export function waveValues(waveform) {
  try {
    return Array.from(atob(waveform), (character) => character.charCodeAt(0))
  } catch {
    return []
  }
}

export function encodedWave(values) { return btoa(String.fromCharCode(...values)) }
