// Help: the keyboard shortcuts and the server that the page is connected to.

import { openDialog } from './dialog.js'
import { h } from './dom.js'

const keys = [
  ['Ctrl K', 'Find people, conversations and messages'],
  ['↑ ↓', 'Move through conversations, messages and the network pane'],
  ['Enter', 'Open, or send'],
  ['Shift Enter', 'A new line'],
  ['↑', 'In an empty field: edit what you wrote last'],
  ['Space', 'On a message: its menu'],
  ['M', 'On a conversation: its menu'],
  ['@', 'In the field: mention somebody'],
  ['R', 'On a message: reply to it'],
  ['+', 'On a message: react to it'],
  ['E', 'On a message of yours: edit it'],
  ['Delete', 'On a message of yours: delete it'],
  ['Ctrl .', 'Network: the messages between page and server'],
  ['Esc', 'Back, or close'],
]

const pictureKeys = [['Ctrl V', 'Send the picture that was copied']]

export function help(app) {
  const hello = app.client.hello
  openDialog({
    title: 'Help and keys',
    kind: 'small',
    build: () => [
      h('dl', { class: 'keys' }, [...keys, ...app.pictures.isOffered ? pictureKeys : []].map(([key, what]) => [
        h('dt', {}, key.split(' ').map((part) => h('kbd', {}, part))), h('dd', {}, what)])),
      h('p', { class: 'field-hint' }, hello
        ? `Connected to ${hello.server} ${hello.version} on ${location.host}, protocol ${hello.protocol}.`
        : 'Not connected.',
      ' Everything but files goes over one WebSocket; the network pane shows all of it.'),
    ],
  })
}
