// A person's public profile.

import { customAvatar, presentChip, presentSignature } from './avatar.js'
import { block, unblock } from './blocks.js'
import { openDialog } from './dialog.js'
import { h } from './dom.js'
import { sentence } from './errors.js'
import { ExpiryChoice } from './expiry.js'
import { icon } from './icons.js'
import { toast } from './notice.js'
import { openReport } from './report-dialog.js'
import { date, lastSeen } from './time.js'

export async function personDetails(app, userID) {
  const { client, directory } = app
  const content = h('div', { class: 'person' })
  const actions = h('div', { class: 'form-actions' })
  const expiry = new ExpiryChoice(app)
  let drawn = ''

  const draw = () => {
    expiry.show(client.conversations.find(({ kind, members }) => {
      return kind === 'direct' && userID !== directory.userID && members.some((each) => each.user_id === userID)
    }))
    const person = directory.person(userID)
    const seen = directory.lastSeen(userID)
    const presence = directory.isOnline(userID) ? 'Online' : seen ? `Last seen ${lastSeen(seen)}` : ''
    const isBlocked = client.blocked.includes(userID)
    const signature = [
      presentSignature(directory, userID), person?.version, person?.created_at, presence, isBlocked,
    ].join()
    if (signature === drawn) return
    drawn = signature
    const facts = person?.is_deleted ? [] : [
      ['Location', person?.location], ['Language', languageName(person?.language_code)],
      ['Website', person?.website && h('a', { href: person.website, target: '_blank', rel: 'noopener noreferrer' },
        person.website.replace(/^https:\/\//, ''))],
      ['Joined', person?.created_at && date(person.created_at)],
      // Of one that is shown the address says nothing.
      ['Picture', person?.avatar_url && !customAvatar(person) && h('a', {
        href: person.avatar_url, target: '_blank', rel: 'noopener noreferrer',
      }, hostOf(person.avatar_url))],
    ].filter(([, value]) => value)
    content.replaceChildren(
      presentChip(directory, userID, 'large'),
      h('p', { class: 'person-name' }, directory.name(userID),
        person?.is_verified && h('span', { class: 'verified', title: 'Verified' }, icon('verified'))),
      h('p', { class: 'row-preview' }, person?.username ? `@${person.username}` : person?.is_guest ? 'Guest' : ''),
      presence && h('p', { class: 'person-presence' }, presence),
      person?.bio ? h('p', { class: 'person-bio', dir: 'auto' }, person.bio) : '',
      facts.length ? h('dl', { class: 'facts' }, facts.map(([name, value]) => {
        return [h('dt', {}, name), h('dd', {}, value)]
      })) : '')
    if (userID === directory.userID || person?.is_deleted) return actions.replaceChildren()
    const focused = actions.contains(document.activeElement) && document.activeElement.dataset.focus
    actions.replaceChildren(
      button('report', 'Report…', () => openReport(app, userID)),
      button('block', isBlocked ? 'Unblock' : 'Block…', () => (isBlocked ? unblock : block)(app, userID)),
      ...isBlocked ? [] : [button('write', 'Write a message', write, 'button primary')])
    if (focused) actions.querySelector(`[data-focus=${focused}]`)?.focus()
  }
  const write = async () => {
    try {
      await app.openWith(userID)
      dialog.close()
    } catch (error) {
      toast(sentence(error, null, 'A new conversation needs a connection.'), 'bad')
    }
  }
  draw()
  const unwatch = directory.watch(draw)

  const dialog = openDialog({
    title: 'Profile', kind: 'small', onClose: unwatch, build: () => [content, expiry.element, actions],
  })

  // A sender that came with a message has a part of its profile alone.
  if (!directory.person(userID)?.created_at) {
    try {
      directory.take((await client.call('profiles.get', { ids: [userID] })).profiles)
    } catch {
      // What is known is shown.
    }
  }
}

function button(focus, label, onclick, kind = 'button') {
  return h('button', { class: kind, type: 'button', 'data-focus': focus, onclick }, label)
}

/// The address itself where the browser does not understand it.
function hostOf(address) {
  return URL.canParse(address) ? new URL(address).host : address
}

function languageName(code) {
  try {
    return code && new Intl.DisplayNames('en', { type: 'language' }).of(code)
  } catch {
    return code
  }
}
