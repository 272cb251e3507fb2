// Blocking users, and what is shown in place of their messages.

import { confirm, openDialog } from './dialog.js'
import { personChip } from './avatar.js'
import { h } from './dom.js'
import { sentence } from './errors.js'
import { toast } from './notice.js'

/// What stands for a message of a blocked user.
export const blockedText = 'Message from a blocked user'

/// How many profiles the server returns at once.
const mostProfiles = 100

/// Asks whether to block a user, and does it.
export async function block(app, userID) {
  const name = app.directory.name(userID)
  const agreed = await confirm({
    title: `Block ${name}?`,
    text: `Neither of you can write to the other, or see when the other is online. In groups that you are both in, `
      + `what ${name} writes is hidden from you. ${name} is not told. The settings list whom you block.`,
    action: 'Block',
  })
  if (agreed) await change(() => app.client.block(userID), `${name} is blocked.`)
}

/// Ends the block of a user.
export function unblock(app, userID) {
  return change(() => app.client.unblock(userID), `${app.directory.name(userID)} is no longer blocked.`)
}

/// The entry of a menu that blocks or unblocks a user.
export function blockAction(app, userID) {
  const isBlocked = app.client.blocked.includes(userID)
  return {
    name: 'block', label: isBlocked ? 'Unblock' : 'Block…', run: () => (isBlocked ? unblock : block)(app, userID),
  }
}

async function change(act, done) {
  try {
    await act()
    toast(done)
  } catch (error) {
    toast(sentence(error, null, 'Blocking needs a connection.'), 'bad')
  }
}

/// Opens the list of blocked users.
export function openBlocked(app) {
  const { client, directory } = app
  const list = h('ul', { class: 'blocked' })
  let drawn = null
  const draw = () => {
    const signature = client.blocked.map((id) => `${id}${directory.name(id)}`).join()
    if (signature === drawn) return
    drawn = signature
    list.replaceChildren(...client.blocked.map((id) => h('li', {},
      personChip(directory, id, 'small'), h('span', { class: 'row-title' }, directory.name(id)),
      h('button', {
        class: 'button', type: 'button', 'aria-label': `Unblock ${directory.name(id)}`, onclick: () => unblock(app, id),
      }, 'Unblock'))))
    if (!client.blocked.length) list.append(h('li', { class: 'empty' }, 'You block nobody.'))
  }
  draw()
  openDialog({
    title: 'Blocked users',
    kind: 'small',
    onClose: directory.watch(draw),
    build: () => [
      h('p', {}, 'They cannot write to you, and what they write in groups is hidden from you.'), list,
    ],
  })
  takeProfiles(app)
}

/// Fetches the profiles of blocked users who share no conversation with the user.
async function takeProfiles({ client, directory }) {
  const unknown = client.blocked.filter((id) => !directory.person(id))
  for (let start = 0; start < unknown.length; start += mostProfiles) {
    try {
      const ids = unknown.slice(start, start + mostProfiles)
      directory.take((await client.call('profiles.get', { ids })).profiles)
    } catch {
      // What is known is shown.
      return
    }
  }
}
