// The conversations, the pinned ones first and then the newest, those that are archived, and the field that finds
// people and messages.

import { conversationChip, presentChip, presentSignature } from './avatar.js'
import { blockedText } from './blocks.js'
import { conversationActions } from './conversation-actions.js'
import { arrowKeys, h, keyed } from './dom.js'
import { sentence } from './errors.js'
import { eventText } from './group-event.js'
import { excerpt } from './found-message.js'
import { createGroup } from './group-view.js'
import { icon } from './icons.js'
import { toast } from './notice.js'
import { quotedName, quotedText } from './reply-quote.js'
import { RowMenu } from './row-menu.js'
import { Search } from './search.js'
import { full, short } from './time.js'
import { typingText } from './typists.js'

export class ListView {
  #app
  #search
  #rows = h('ul', { class: 'rows', 'aria-label': 'Conversations' })
  #archived = h('ul', { class: 'rows', id: 'archived', 'aria-label': 'Archived conversations', hidden: true })
  #archivedToggle
  #isArchiveOpen = false
  #people = h('ul', { class: 'rows', 'aria-label': 'People found' })
  #peopleTitle = h('h2', { class: 'rows-title', hidden: true }, 'People')
  #messages = h('ul', { class: 'rows', 'aria-label': 'Messages found' })
  #messagesTitle = h('h2', { class: 'rows-title', hidden: true }, 'Messages')
  #empty = h('div', { class: 'list-empty', hidden: true })
  #input
  #enter
  element

  constructor(app) {
    this.#app = app
    this.#search = new Search(app, () => this.render())
    this.#input = h('input', {
      type: 'search', placeholder: 'Search', 'aria-label': 'Search people, conversations and messages',
      'aria-keyshortcuts': 'Control+K', autocomplete: 'off', spellcheck: false, id: 'search',
      oninput: () => {
        this.#search.find(this.#input.value)
        this.render()
      },
      onkeydown: (event) => {
        if (event.key === 'Escape') this.#clearSearch()
        if (event.key === 'ArrowDown' || event.key === 'Enter') {
          const row = this.#scroller.querySelector('.row')
          event.preventDefault()
          if (event.key === 'Enter') row?.click()
          else row?.focus()
        }
      },
    })
    this.#archivedToggle = h('button', {
      class: 'row archived-toggle', type: 'button', tabIndex: -1, hidden: true, 'aria-controls': 'archived',
      onclick: () => {
        this.#isArchiveOpen = !this.#isArchiveOpen
        this.render()
      },
    }, icon('archive'), h('span', { class: 'row-title' }, 'Archived'), h('span', { class: 'archived-count' }))
    this.#scroller = h('div', { class: 'list-scroller', tabIndex: -1 },
      this.#rows, this.#archivedToggle, this.#archived, this.#peopleTitle, this.#people,
      this.#messagesTitle, this.#messages, this.#empty)
    const menu = new RowMenu(this.#scroller, {
      rows: '.row[data-id]', name: 'conversation-menu',
      describe: ({ dataset: { id } }) => {
        const conversation = app.client.conversation(id)
        return { title: app.directory.title(conversation), actions: conversationActions(app, conversation) }
      },
    })
    this.#scroller.addEventListener('keydown', (event) => {
      if (event.key !== 'm' || event.ctrlKey || event.metaKey || event.altKey) return
      if (event.target.matches('.row[data-id]')) menu.open(event.target)
    })
    this.#enter = arrowKeys(this.#scroller, '.row:not([hidden], [hidden] *)', (rows) => {
      return rows.find((row) => row.getAttribute('aria-current') === 'true') ?? rows[0]
    })
    this.element = h('div', { class: 'list' },
      h('div', { class: 'list-tools' },
        h('div', { class: 'search' }, icon('search'), this.#input),
        h('button', {
          class: 'icon-button', type: 'button', 'aria-label': 'New group', title: 'New group',
          onclick: () => createGroup(app),
        }, icon('plus'))),
      this.#scroller, menu.element)
  }

  #scroller

  focusSearch() {
    this.#input.focus()
    this.#input.select()
  }

  /// The row of the open conversation, or the first.
  focusRows() {
    (this.#rows.querySelector('[aria-current="true"]') ?? this.#scroller.querySelector('.row'))?.focus()
  }

  #clearSearch() {
    this.#input.value = ''
    this.#search.find('')
    this.render()
  }

  render() {
    const { client, directory } = this.#app
    const query = this.#input.value.trim().toLowerCase()
    const conversations = client.conversations.filter((conversation) => {
      return !query || directory.title(conversation).toLowerCase().includes(query)
    })
    const shown = conversations.filter((each) => !each.is_archived)
    // The array is sorted by time, and stays so within both parts.
    const sorted = [...shown.filter((each) => each.is_pinned), ...shown.filter((each) => !each.is_pinned)]
    keyed(this.#rows, sorted, (conversation) => this.#row(conversation))
    this.#renderArchived(conversations.filter((each) => each.is_archived), query !== '')
    keyed(this.#people, this.#search.results, (id) => this.#person(id))
    this.#peopleTitle.hidden = this.#search.results.length === 0
    keyed(this.#messages, this.#search.messages, (message) => this.#message(message))
    this.#messagesTitle.hidden = this.#search.messages.length === 0
    this.#renderEmpty(query, conversations.length + this.#search.messages.length)
    this.#enter()
  }

  /// A search shows those that it finds.
  #renderArchived(archived, isSearching) {
    const isOpen = archived.length > 0 && (isSearching || this.#isArchiveOpen)
    this.#archivedToggle.hidden = archived.length === 0
    this.#archivedToggle.setAttribute('aria-expanded', String(isOpen))
    const unread = archived.filter((each) => each.unread_count > 0 || each.is_marked_unread).length
    const count = this.#archivedToggle.lastElementChild
    count.textContent = unread ? `${archived.length}, ${unread} unread` : archived.length
    this.#archived.hidden = !isOpen
    keyed(this.#archived, archived, (conversation) => this.#row(conversation))
  }

  #renderEmpty(query, count) {
    const { client } = this.#app
    const kind = !client.me && !client.conversations.length ? 'loading'
      : query && (this.#search.isSearching || this.#search.results.length || count) ? ''
        : query ? `nothing ${this.#search.problem ?? ''}` : count ? '' : 'empty'
    if (this.#empty.dataset.kind === kind) return
    this.#empty.dataset.kind = kind
    this.#empty.hidden = !kind
    if (kind === 'loading') {
      this.#empty.replaceChildren(
        h('p', { class: 'unseen' }, 'Loading conversations'),
        ...[0, 1, 2, 3, 4].map(() => h('div', { class: 'skeleton-row' }, h('span'), h('div', {}, h('i'), h('i')))))
    } else if (kind === 'empty') {
      this.#empty.replaceChildren(
        h('p', { class: 'empty-title' }, 'No conversations yet'),
        h('p', {}, 'Find a person by name or username above, or begin a group.'),
        h('button', { class: 'button', type: 'button', onclick: () => this.focusSearch() }, 'Find somebody'))
    } else if (kind) {
      this.#empty.replaceChildren(
        h('p', { class: 'empty-title' }, this.#search.problem ?? 'Nothing found'),
        h('p', {}, query.length < 2 ? 'People and messages are found from two letters on.'
          : 'Guests are not found: they have to write to you first.'))
    }
  }

  #row(conversation) {
    const { directory } = this.#app
    const title = directory.title(conversation)
    const { unread_count: count, unread_mentions: mentions, is_marked_unread: isMarked, is_pinned: isPinned } =
      conversation
    const unread = count > 0 || isMarked
    const isOpen = this.#app.openID === conversation.id
    const refused = this.#refused(conversation)
    const time = refused?.created_at ?? conversation.last_message_time
    const typing = typingText(directory, conversation)
    const draft = isOpen ? '' : conversation.draft
    const preview = draft || this.#preview(conversation, refused)
    const isMuted = directory.mutedUntil(conversation) !== null
    const other = directory.other(conversation)
    return {
      key: conversation.id,
      signature: [
        title, count, mentions, isMarked, isPinned, isMuted, isOpen, time && short(time), Boolean(draft), preview,
        typing, other && presentSignature(directory, other),
      ].join('\n'),
      build: () => h('li', {}, h('button', {
        class: ['row', unread && 'unread', isMuted && 'muted'].filter(Boolean).join(' '),
        type: 'button', tabIndex: -1, 'aria-current': String(isOpen), 'data-id': conversation.id,
        'data-key': conversation.id,
        onclick: () => {
          this.#clearSearch()
          this.#app.open(conversation.id)
        },
      },
      conversationChip(directory, conversation),
      h('span', { class: 'row-text' },
        h('span', { class: 'row-line' },
          h('span', { class: 'row-title' }, title),
          isMuted && mark('muted', 'Muted', 'muted'),
          isPinned && mark('pinned', 'Pinned', 'pin'),
          time && h('time', { dateTime: time, title: full(time) }, short(time))),
        h('span', { class: 'row-line' },
          typing ? h('span', { class: 'row-preview typing' }, typing) : h('span', { class: 'row-preview' },
            draft && h('span', { class: 'draft-mark' }, 'Draft: '), preview),
          mentions > 0 && h('span', { class: 'badge mentions' }, '@',
            h('span', { class: 'unseen' }, mentions === 1 ? ' 1 mention' : ` ${mentions} mentions`)),
          unread && h('span', { class: count ? 'badge' : 'badge marked' },
            count > 99 ? '99+' : count ? String(count) : '',
            h('span', { class: 'unseen' }, count ? ' unread' : 'Marked as unread')))))),
    }
  }

  /// Returns the newest message of the conversation if the server has refused it.
  #refused({ id, last_message_time: time }) {
    return this.#app.client.refusedChanges.findLast((change) => {
      return change.conversation_id === id && change.method === 'messages.send' && !(change.created_at < time)
    })
  }

  #preview(conversation, refused) {
    const { directory } = this.#app
    if (refused) return `Not sent. You: ${quotedText(refused)}`
    if (!conversation.last_message_time) return 'No messages yet'
    if (conversation.is_last_message_blocked) return blockedText
    const { last_message_sender_id: sender, last_message_content: content, last_message_event: event } = conversation
    if (event) return eventText(directory, { event, sender_id: sender, content })
    const { last_message_kind: kind = 'image' } = conversation
    const text = content === null ? 'Message deleted' : quotedText({ kind, content })
    if (sender === directory.userID) return `You: ${text}`
    return conversation.kind === 'group' ? `${directory.name(sender)}: ${text}` : text
  }

  #person(id) {
    const { directory } = this.#app
    const person = directory.person(id)
    return {
      key: id,
      signature: `${presentSignature(directory, id)}${person?.username}${person?.is_verified}`,
      build: () => h('li', {}, h('button', {
        class: 'row', type: 'button', tabIndex: -1, 'data-person': id, onclick: () => this.#begin(id),
      }, presentChip(directory, id), h('span', { class: 'row-text' },
        h('span', { class: 'row-title' }, directory.name(id)),
        h('span', { class: 'row-preview' }, person?.username ? `@${person.username}` : 'No username')))),
    }
  }

  /// A press shows the message in its place.
  #message(message) {
    const { directory, client } = this.#app
    const { id, conversation_id: conversationID, seq, content, created_at: time } = message
    const conversation = client.conversation(conversationID)
    const title = directory.title(conversation)
    const sender = quotedName(directory, message)
    const { query } = this.#search
    return {
      key: id,
      signature: [query, title, sender, content, short(time)].join('\n'),
      build: () => h('li', {}, h('button', {
        class: 'row found', type: 'button', tabIndex: -1, 'data-key': id, onclick: () => {
          this.#clearSearch()
          this.#app.show(conversationID, seq)
        },
      }, conversationChip(directory, conversation), h('span', { class: 'row-text' },
        h('span', { class: 'row-line' },
          h('span', { class: 'row-title' }, title), h('time', { dateTime: time, title: full(time) }, short(time))),
        h('span', { class: 'row-preview', dir: 'auto' }, `${sender}: `, ...excerpt(content, query))))),
    }
  }

  async #begin(userID) {
    try {
      await this.#app.openWith(userID)
      this.#clearSearch()
    } catch (error) {
      toast(sentence(error, null, 'A new conversation needs a connection.'), 'bad')
    }
  }
}

function mark(kind, title, name) {
  return h('span', { class: `row-mark ${kind}-mark`, role: 'img', 'aria-label': title, title }, icon(name))
}
