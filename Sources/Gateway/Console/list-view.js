// The conversations, newest first, and the field that finds people.

import { conversationChip, presentChip, presentSignature } from './avatar.js'
import { arrowKeys, h, keyed } from './dom.js'
import { sentence } from './errors.js'
import { eventText } from './group-event.js'
import { createGroup } from './group-view.js'
import { icon } from './icons.js'
import { toast } from './notice.js'
import { Search } from './search.js'
import { full, short } from './time.js'
import { typingText } from './typists.js'

export class ListView {
  #app
  #search
  #rows = h('ul', { class: 'rows', 'aria-label': 'Conversations' })
  #people = h('ul', { class: 'rows', 'aria-label': 'People found' })
  #peopleTitle = h('h2', { class: 'rows-title', hidden: true }, 'People')
  #empty = h('div', { class: 'list-empty', hidden: true })
  #input
  #enter
  element

  constructor(app) {
    this.#app = app
    this.#search = new Search(app, () => this.render())
    this.#input = h('input', {
      type: 'search', placeholder: 'Search', 'aria-label': 'Search people and conversations',
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
    this.#scroller = h('div', { class: 'list-scroller', tabIndex: -1 },
      this.#rows, this.#peopleTitle, this.#people, this.#empty)
    this.#enter = arrowKeys(this.#scroller, '.row', (rows) => {
      return rows.find((row) => row.getAttribute('aria-current') === 'true') ?? rows[0]
    })
    this.element = h('div', { class: 'list' },
      h('div', { class: 'list-tools' },
        h('div', { class: 'search' }, icon('search'), this.#input),
        h('button', {
          class: 'icon-button', type: 'button', 'aria-label': 'New group', title: 'New group',
          onclick: () => createGroup(app),
        }, icon('plus'))),
      this.#scroller)
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
    keyed(this.#rows, conversations, (conversation) => this.#row(conversation))
    keyed(this.#people, this.#search.results, (id) => this.#person(id))
    this.#peopleTitle.hidden = this.#search.results.length === 0
    this.#renderEmpty(query, conversations.length)
    this.#enter()
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
        h('p', { class: 'empty-title' }, this.#search.problem ?? 'Nobody found'),
        h('p', {}, query.length < 2 ? 'People are found from two letters on.'
          : 'Guests are not found: they have to write to you first.'))
    }
  }

  #row(conversation) {
    const { directory } = this.#app
    const title = directory.title(conversation)
    const unread = conversation.unread_count
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
        title, unread, isOpen, time && short(time), Boolean(draft), preview, typing, isMuted,
        other && presentSignature(directory, other),
      ].join('\n'),
      build: () => h('li', {}, h('button', {
        class: ['row', unread && 'unread', isMuted && 'muted'].filter(Boolean).join(' '),
        type: 'button', tabIndex: -1, 'aria-current': String(isOpen), 'data-id': conversation.id,
        onclick: () => {
          this.#clearSearch()
          this.#app.open(conversation.id)
        },
      },
      conversationChip(directory, conversation),
      h('span', { class: 'row-text' },
        h('span', { class: 'row-line' },
          h('span', { class: 'row-title' }, title),
          isMuted && mutedMark(),
          time && h('time', { dateTime: time, title: full(time) }, short(time))),
        h('span', { class: 'row-line' },
          typing ? h('span', { class: 'row-preview typing' }, typing) : h('span', { class: 'row-preview' },
            draft && h('span', { class: 'draft-mark' }, 'Draft: '), preview),
          unread > 0 && h('span', { class: 'badge' }, unread > 99 ? '99+' : String(unread),
            h('span', { class: 'unseen' }, ' unread')))))),
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
    if (refused) return `Not sent. You: ${refused.content || 'A picture'}`
    if (!conversation.last_message_time) return 'No messages yet'
    const { last_message_sender_id: sender, last_message_content: content, last_message_event: event } = conversation
    if (event) return eventText(directory, { event, sender_id: sender, content })
    const text = content === null ? 'Message deleted' : content || 'A picture'
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

  async #begin(userID) {
    try {
      await this.#app.openWith(userID)
      this.#clearSearch()
    } catch (error) {
      toast(sentence(error, null, 'A new conversation needs a connection.'), 'bad')
    }
  }
}

function mutedMark() {
  return h('span', { class: 'muted-mark', role: 'img', 'aria-label': 'Muted', title: 'Muted' }, icon('muted'))
}
