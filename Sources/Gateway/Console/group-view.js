// Groups: making one, and who is in it as what.

import { conversationChip, presentChip, presentSignature } from './avatar.js'
import { confirm, openDialog } from './dialog.js'
import { h, keyed } from './dom.js'
import { sentence } from './errors.js'
import { ExpiryChoice } from './expiry.js'
import { FieldProblem, field, form, need } from './form.js'
import { icon } from './icons.js'
import { toast } from './notice.js'
import { PeoplePicker } from './people-picker.js'
import { personDetails } from './person-view.js'

const roleNames = { owner: 'Owner', admin: 'Admin', member: 'Member' }

export function createGroup(app) {
  if (!app.client.me) return
  const title = field({
    name: 'title', label: 'Title', maxLength: 100, autocomplete: 'off', placeholder: 'Weekend in the Alps',
  })
  const picker = new PeoplePicker(app)
  openDialog({
    title: 'New group',
    onClose: picker.watch(),
    build: (close) => form({
      fields: [title],
      children: [title.element, h('div', { class: 'field' }, h('span', { class: 'label' }, 'Members'), picker.element)],
      action: 'Create group',
      submit: async () => {
        need([title])
        if (!picker.ids.length) throw new FieldProblem(null, 'Choose at least one person.')
        const id = await app.client.createGroup(title.value, picker.ids)
        close()
        app.open(id)
      },
    }).element,
  })
  title.input.focus()
}

export function groupDetails(app, conversationID) {
  const { client, directory } = app
  const head = h('div', { class: 'person' })
  const list = h('ul', { class: 'members', 'aria-label': 'Members' })
  const count = h('h3', {})
  const tools = h('div', { class: 'group-tools' })
  const expiry = new ExpiryChoice(app)
  let dialog

  const conversation = () => client.conversation(conversationID)

  /// Calls a method, and says what went wrong.
  const change = async (method, params) => {
    try {
      await client.call(method, { conversation_id: conversationID, ...params })
      return true
    } catch (error) {
      toast(sentence(error, null, 'That needs a connection.'), 'bad')
      return false
    }
  }

  const draw = () => {
    const group = conversation()
    if (!group) return dialog?.close()
    const mine = directory.role(group)
    const leads = mine === 'owner' || mine === 'admin'
    keyed(head, [group], () => ({
      key: 'head',
      signature: `${group.title}${leads}`,
      build: () => h('div', { class: 'person' }, conversationChip(directory, group, 'large'),
        h('p', { class: 'person-name' }, group.title,
          leads && h('button', {
            class: 'icon-button', type: 'button', 'aria-label': 'Rename', title: 'Rename',
            onclick: () => rename(app, group),
          }, icon('edit')))),
    }))
    expiry.show(group)
    count.textContent = `${group.members.length} ${group.members.length === 1 ? 'member' : 'members'}`
    const rank = { owner: 0, admin: 1, member: 2 }
    const members = [...group.members].sort((a, b) => {
      return rank[a.role] - rank[b.role] || directory.name(a.user_id).localeCompare(directory.name(b.user_id))
    })
    keyed(list, members, (member) => ({
      key: member.user_id,
      signature: `${presentSignature(directory, member.user_id)}${member.role}${mine}`,
      build: () => memberRow(member, mine),
    }))
    keyed(tools, [group], () => ({
      key: 'tools',
      signature: String(leads),
      build: () => h('div', { class: 'form-actions' },
        h('button', { class: 'button danger-text', type: 'button', onclick: leave }, 'Leave group'),
        leads && h('button', {
          class: 'button primary', type: 'button', onclick: () => addMembers(app, conversation()),
        }, 'Add people')),
    }))
  }

  const memberRow = (member, mine) => {
    const isMe = member.user_id === directory.userID
    const name = directory.name(member.user_id)
    const mayRemove = !isMe && member.role !== 'owner'
      && (mine === 'owner' || mine === 'admin' && member.role === 'member')
    return h('li', { class: 'member' },
      h('button', { class: 'member-person', type: 'button', onclick: () => personDetails(app, member.user_id) },
        presentChip(directory, member.user_id, 'small'),
        h('span', { class: 'row-title' }, isMe ? `${name} (you)` : name)),
      mine === 'owner' && !isMe
        ? h('select', {
          'aria-label': `Role of ${name}`, onchange: (event) => setRole(member, event.target),
        }, Object.entries(roleNames).map(([role, label]) => {
          return h('option', { value: role, selected: role === member.role }, label)
        }))
        : h('span', { class: 'role' }, roleNames[member.role]),
      mayRemove ? h('button', {
        class: 'icon-button', type: 'button', 'aria-label': `Remove ${name}`, title: 'Remove',
        onclick: async () => {
          const agreed = await confirm({
            title: `Remove ${name}?`, text: `${name} no longer sees this group, and nothing of what was written in it.`,
            action: 'Remove',
          })
          if (agreed) change('conversations.remove_member', { user_id: member.user_id })
        },
      }, icon('close')) : h('span', { class: 'member-space' }))
  }

  const setRole = async (member, select) => {
    const agreed = select.value !== 'owner' || await confirm({
      title: `Make ${directory.name(member.user_id)} the owner?`,
      text: 'A group has one owner. You become an admin, and cannot take it back yourself.',
      action: 'Hand over',
    })
    if (!agreed || !await change('conversations.set_role', { user_id: member.user_id, role: select.value })) {
      select.value = member.role
    }
  }

  const leave = async () => {
    const isOwner = directory.role(conversation()) === 'owner'
    const agreed = await confirm({
      title: 'Leave this group?',
      text: 'You no longer see it until somebody adds you again.'
        + (isOwner ? ' The oldest admin, or else member, becomes its owner.' : ''),
      action: 'Leave',
    })
    if (!agreed) return
    if (await change('conversations.remove_member', { user_id: directory.userID })) dialog.close()
  }

  const unwatch = directory.watch(draw)
  draw()
  dialog = openDialog({
    title: 'Group',
    onClose: unwatch,
    build: () => [head, expiry.element, count, list, tools],
  })
}

function rename(app, group) {
  const title = field({ name: 'title', label: 'Title', value: group.title ?? '', maxLength: 100, autocomplete: 'off' })
  openDialog({
    title: 'Rename group',
    kind: 'small',
    build: (close) => form({
      fields: [title],
      action: 'Rename',
      submit: async () => {
        need([title])
        await app.client.call('conversations.update', { conversation_id: group.id, title: title.value })
        close()
      },
    }).element,
  })
  title.input.select()
}

function addMembers(app, group) {
  const picker = new PeoplePicker(app, group.members.map((member) => member.user_id))
  openDialog({
    title: 'Add people',
    onClose: picker.watch(),
    build: (close) => form({
      fields: [],
      children: [picker.element],
      action: 'Add',
      submit: async () => {
        if (!picker.ids.length) throw new FieldProblem(null, 'Choose at least one person.')
        await app.client.call('conversations.add_members', {
          conversation_id: group.id, user_ids: picker.ids, profiles: true,
        })
        close()
      },
    }).element,
  })
  picker.focus()
}
