// What the user can do with a conversation in its list: the entries of its menu.

import { blockAction } from './blocks.js'
import { h } from './dom.js'
import { sentence } from './errors.js'
import { icon } from './icons.js'
import { toast } from './notice.js'
import { RowMenu } from './row-menu.js'

/// Returns the actions `{ name, label, run }` for a conversation, in their order; `name` is also the name of an icon.
export function conversationActions(app, conversation) {
  const { id, unread_count: unread, is_marked_unread: isMarked, is_pinned: isPinned, is_archived: isArchived } =
    conversation
  const set = (settings) => app.client.setConversation(id, settings).catch((error) => toast(sentence(error), 'bad'))
  const isUnread = unread > 0 || isMarked
  const other = app.directory.other(conversation)
  return [
    isUnread ? {
      name: 'check', label: 'Mark as read',
      run: () => app.client.chat(id).markRead().catch((error) => toast(sentence(error), 'bad')),
    } : {
      name: 'unread', label: 'Mark as unread',
      run: () => {
        // An open conversation is read.
        if (app.openID === id) app.open(null)
        set({ is_marked_unread: true })
      },
    },
    { name: 'pin', label: isPinned ? 'Unpin' : 'Pin to the top', run: () => set({ is_pinned: !isPinned }) },
    { name: 'archive', label: isArchived ? 'Unarchive' : 'Archive', run: () => set({ is_archived: !isArchived }) },
    ...other && !app.directory.person(other)?.is_deleted ? [blockAction(app, other)] : [],
  ]
}

/// The button above a conversation that opens its menu.
export function moreMenu(app, conversation) {
  const button = h('button', {
    class: 'icon-button', type: 'button', 'data-key': 'more', 'aria-haspopup': 'menu',
    'aria-label': 'More actions', title: 'More actions',
  }, icon('more'))
  const element = h('div', { class: 'more' }, button)
  const menu = new RowMenu(element, {
    rows: '[data-key=more]', name: 'more-menu',
    describe: () => ({ title: 'Conversation', actions: conversationActions(app, conversation()) }),
  })
  button.addEventListener('click', () => menu.open(button))
  element.append(menu.element)
  return element
}
