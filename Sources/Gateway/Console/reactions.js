// The reactions below a message, and the list of who reacted.

import { presentChip } from './avatar.js'
import { openDialog } from './dialog.js'
import { h } from './dom.js'
import { sentence } from './errors.js'
import { toast } from './notice.js'

/// Returns true if a message has reactions.
export function hasReactions({ reactions }) { return Object.keys(reactions.counts).length > 0 }

/// The reactions with their numbers, the most frequent first. A press sets the user's own, or takes it back.
export function reactionChips(app, message) {
  const { counts, own } = message.reactions
  const sorted = Object.entries(counts).sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1))
  return h('div', { class: 'reactions', role: 'group', 'aria-label': 'Reactions' }, sorted.map(([emoji, count]) => {
    const isOwn = own.includes(emoji)
    return h('button', {
      class: isOwn ? 'reaction own' : 'reaction', type: 'button', tabIndex: -1, 'data-emoji': emoji,
      'aria-pressed': String(isOwn), 'aria-label': `${emoji}, ${count}`,
      title: isOwn ? 'Take your reaction back' : 'React too', onclick: () => react(app, message, emoji),
    }, h('span', { class: 'reaction-emoji' }, emoji), String(count))
  }),
  h('button', {
    class: 'reaction who', type: 'button', tabIndex: -1, 'aria-haspopup': 'dialog', 'aria-label': 'Who reacted',
    title: 'Who reacted', onclick: () => whoReacted(app, message),
  }, '…'))
}

/// Sets a reaction of the user, or takes it back if it is set.
export function react(app, message, emoji) {
  const chat = app.client.chat(message.conversation_id)
  chat.react(message, emoji, !message.reactions.own.includes(emoji)).catch((error) => toast(sentence(error), 'bad'))
}

/// Opens the list of those who reacted to a message.
export function whoReacted(app, message) {
  const list = h('ul', { class: 'reactors' }, h('li', { class: 'field-hint' }, 'Loading…'))
  openDialog({ title: 'Reactions', kind: 'small', build: () => list })
  load(app, message, list).catch((error) => {
    list.replaceChildren(h('li', { class: 'form-error', role: 'alert' },
      sentence(error, null, 'The list needs a connection.')))
  })
}

async function load(app, { conversation_id, seq }, list) {
  const { client, directory } = app
  const all = []
  for (let after; after !== null;) {
    const page = await client.call('messages.reactions', { conversation_id, seq, limit: 200, ...after && { after } })
    all.push(...page.reactions)
    after = page.next
  }
  const unknown = [...new Set(all.map(({ user_id: id }) => id))].filter((id) => !directory.person(id))
  if (unknown.length) {
    const { profiles } = await client.call('profiles.get', { ids: unknown.slice(0, 100) })
    directory.take(profiles)
  }
  const users = new Map()
  for (const { user_id: id, emoji } of all) users.set(id, [...users.get(id) ?? [], emoji])
  list.replaceChildren(...[...users].map(([id, emojis]) => h('li', { class: 'reactor' },
    presentChip(directory, id, 'small'),
    h('span', { class: 'row-title' }, id === directory.userID ? 'You' : directory.name(id)),
    h('span', { class: 'reactor-emojis' }, emojis.join(' ')))))
  if (!all.length) list.append(h('li', { class: 'field-hint' }, 'Nobody has reacted.'))
}
