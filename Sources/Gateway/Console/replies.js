// The replies to a message, together in a dialog.

import { openDialog } from './dialog.js'
import { h } from './dom.js'
import { quotedName, quotedText } from './reply-quote.js'
import { short } from './time.js'

/// Returns the replies to a message, the oldest first. They are newer than the message, so they are loaded with it.
export function repliesTo(chat, { seq }) { return chat.messages.filter(({ reply_to: quoted }) => quoted?.seq === seq) }

/// Opens the replies to a message. `reply` is called with the message, and `show` with the number of a reply that the
/// user chooses.
export function showReplies(app, message, { reply, show }) {
  const { client, directory } = app
  const chat = client.chat(message.conversation_id)
  const line = (each) => [
    h('span', { class: 'quote-name' }, `${quotedName(directory, each)}, `, h('time', {}, short(each.created_at))),
    h('span', { class: 'quote-text', dir: 'auto' }, quotedText(each)),
  ]
  const quoted = h('p', { class: 'reply-root' })
  const list = h('ol', { class: 'replies' })
  const draw = () => {
    quoted.replaceChildren(...line(chat.messages.find(({ seq }) => seq === message.seq) ?? message))
    list.replaceChildren(...repliesTo(chat, message).map((each) => h('li', {}, h('button', {
      class: 'quote', type: 'button', title: 'Go to this message', disabled: each.seq === null,
      onclick: () => leave(() => show(each.seq)),
    }, ...line(each)))))
  }
  const dialog = openDialog({
    title: 'Replies',
    onClose: chat.subscribe(draw),
    build: () => [
      quoted, list,
      h('div', { class: 'form-actions' },
        h('button', { class: 'button primary', type: 'button', onclick: () => leave(() => reply(message)) }, 'Reply')),
    ],
  })
  const leave = (act) => {
    dialog.close()
    act()
  }
  draw()
}
