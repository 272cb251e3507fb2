// Says when the connection is gone, until when, and what waits for it.

import { h } from './dom.js'
import { sentence } from './errors.js'
import { icon } from './icons.js'
import { announce } from './notice.js'

/// A reload takes a moment; only a longer absence is worth a word.
const graceMilliseconds = 600

export class StatusView {
  #app
  #text = h('p', {})
  #button
  #shown = 'live'
  #timer
  element

  constructor(app) {
    this.#app = app
    this.#button = h('button', { class: 'link-button', type: 'button', onclick: () => app.client.connect() }, 'Try now')
    this.element = h('div', { class: 'status', hidden: true },
      icon('offline'), this.#text, this.#button)
  }

  render() {
    clearTimeout(this.#timer)
    const { name } = this.#app.client.state
    const wasAway = this.#shown === 'away'
    if (name === 'live') {
      this.#shown = 'live'
      this.element.hidden = true
      if (wasAway) announce('Connected again.')
      return
    }
    if (name !== 'offline' && !wasAway) {
      this.#shown = 'connecting'
      this.#timer = setTimeout(() => this.#show('Connecting…'), graceMilliseconds)
      return
    }
    if (!wasAway) announce('The connection is gone. What you write is sent when it is back.')
    this.#shown = 'away'
    this.#count()
  }

  #count() {
    const { state: { name, error, retryAt }, pendingMessageCount: waiting } = this.#app.client
    const kept = waiting === 0 ? 'What you write is kept.'
      : waiting === 1 ? 'One message waits.' : `${waiting} messages wait.`
    if (name !== 'offline') return this.#show(`Connecting again… ${kept}`)
    const reason = navigator.onLine && error ? sentence(error, null, error.message) : 'You are offline.'
    const left = Math.ceil((retryAt - Date.now()) / 1000)
    this.#show(`${reason} ${kept}${retryAt ? ` Next try ${left > 1 ? `in ${left} s` : 'now'}.` : ''}`)
    this.#timer = setTimeout(() => this.#count(), 500)
  }

  #show(text) {
    this.element.hidden = false
    this.#text.textContent = text
    this.#button.hidden = this.#app.client.state.name !== 'offline'
  }
}
