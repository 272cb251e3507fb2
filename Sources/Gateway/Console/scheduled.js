// Messages that are sent later: the dialog that asks for the time, and the bar and list of those that wait.

import { openDialog } from './dialog.js'
import { h } from './dom.js'
import { sentence } from './errors.js'
import { icon } from './icons.js'
import { quotedText } from './reply-quote.js'
import { soon, tomorrowAt } from './time.js'

/// The hour of the day of "tomorrow morning".
const morning = 9

/// Asks for the time of a message, and calls `onTime` with it.
export function askForTime(onTime) {
  const field = h('input', {
    type: 'datetime-local', id: 'due-at', required: true, min: localTime(new Date()), value: localTime(inAnHour()),
  })
  openDialog({
    title: 'Send later',
    kind: 'small',
    build: (close) => {
      const choose = (date) => {
        close()
        onTime(date)
      }
      const choice = (text, date) => h('button', {
        class: 'button', type: 'button', onclick: () => choose(date()),
      }, text)
      return h('form', {
        class: 'form',
        onsubmit: (event) => {
          event.preventDefault()
          choose(new Date(field.value))
        },
      },
      h('div', { class: 'form-actions' },
        choice('In an hour', inAnHour), choice(`Tomorrow, ${morning}:00`, () => tomorrowAt(morning))),
      h('div', { class: 'field' }, h('label', { htmlFor: 'due-at' }, 'Or at'), field),
      h('div', { class: 'form-actions' }, h('button', { class: 'button primary', type: 'submit' }, 'Schedule')))
    },
  })
}

/// The bar above the composer with the number of the user's scheduled messages. A click lists them.
export class ScheduledBar {
  #chat = null
  #text = h('span', { class: 'row-preview' }, 'Scheduled messages')
  element

  constructor(app) {
    this.element = h('section', { class: 'scheduled-bar', 'aria-label': 'Scheduled messages', hidden: true },
      h('button', {
        class: 'link-button', type: 'button', title: 'Show the scheduled messages',
        onclick: () => listScheduled(app, this.#chat.id),
      }, icon('clock'), this.#text))
  }

  render(chat) {
    this.#chat = chat
    const { scheduled_count: waiting = 0, unsent_count: unsent = 0 } = chat.conversation
    this.element.hidden = waiting + unsent === 0
    if (this.element.hidden) return
    const parts = [
      waiting && `${waiting} scheduled ${waiting === 1 ? 'message' : 'messages'}`,
      unsent && `${unsent} could not be sent`,
    ]
    const text = parts.filter(Boolean).join(', ')
    if (this.#text.textContent !== text) this.#text.textContent = text
    this.element.classList.toggle('bad', unsent > 0)
  }
}

/// Shows the user's scheduled messages of a conversation, which can be removed.
function listScheduled(app, conversationID) {
  const list = h('ul', { class: 'scheduled-list' })
  const problem = h('p', { class: 'form-error', role: 'alert', hidden: true })
  const attempt = async (work) => {
    try {
      await work()
    } catch (error) {
      problem.textContent = sentence(error, 'The message', 'That needs a connection.')
      problem.hidden = false
    }
  }
  const { close } = openDialog({ title: 'Scheduled messages', build: () => [problem, list] })
  const draw = (messages) => {
    if (!messages.length) return close()
    list.replaceChildren(...messages.map((message) => h('li', {},
      h('div', { class: 'row-text' },
        h('span', { class: message.error ? 'form-error' : 'row-preview' },
          message.error ? `Not sent: ${message.error.message}` : soon(new Date(message.due_at))),
        h('span', { dir: 'auto' }, quotedText(message))),
      h('button', {
        class: 'icon-button', type: 'button', 'aria-label': `Remove “${message.content}”`, title: 'Remove',
        onclick: () => attempt(async () => {
          await app.client.unschedule(message)
          draw(messages.filter((each) => each !== message))
        }),
      }, icon('trash')))))
  }
  attempt(async () => draw(await app.client.scheduled(conversationID)))
}

function inAnHour() { return new Date(Date.now() + 3_600_000) }

/// Returns a time as a field of the type `datetime-local` has it.
function localTime(date) {
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}
