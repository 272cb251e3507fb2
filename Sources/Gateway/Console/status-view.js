// Says when the connection is gone, until when, and what waits for it.

import { h } from './dom.js'
import { icon } from './icons.js'
import { announce } from './notice.js'

/// A reload takes a moment; only a longer absence is worth a word.
const graceMilliseconds = 600

export class StatusView {
  #app
  #text = h('p', {})
  #button
  #shown = 'online'
  #timer
  element

  constructor(app) {
    this.#app = app
    this.#button = h('button', { class: 'link-button', type: 'button', onclick: () => app.link.retryNow() }, 'Try now')
    this.element = h('div', { class: 'status', hidden: true },
      icon('offline'), this.#text, this.#button)
  }

  render() {
    clearTimeout(this.#timer)
    const { state } = this.#app.link
    const wasAway = this.#shown === 'away'
    if (state.name === 'online') {
      this.#shown = 'online'
      this.element.hidden = true
      if (wasAway) announce('Connected again.')
      return
    }
    if (state.name === 'connecting' && !wasAway) {
      this.#shown = 'connecting'
      this.#timer = setTimeout(() => this.#show('Connecting…'), graceMilliseconds)
      return
    }
    if (!wasAway) announce('The connection is gone. What you write is sent when it is back.')
    this.#shown = 'away'
    this.#count()
  }

  #count() {
    const { link, outbox, uploads } = this.#app
    const { state } = link
    const waiting = outbox.waiting + uploads.waiting
    const kept = waiting === 0 ? 'What you write is kept.'
      : waiting === 1 ? 'One message waits.' : `${waiting} messages wait.`
    if (state.name === 'connecting') return this.#show(`Connecting again… ${kept}`)
    const left = Math.max(0, Math.ceil((state.retryAt - Date.now()) / 1000))
    this.#show(`${state.reason} ${kept} Next try ${left > 1 ? `in ${left} s` : 'now'}.`)
    this.#timer = setTimeout(() => this.#count(), 500)
  }

  #show(text) {
    this.element.hidden = false
    this.#text.textContent = text
    this.#button.hidden = this.#app.link.state.name !== 'offline'
  }
}
