// The conversations, newest first, and the field that finds people.

import { conversationChip, presentChip, presentSignature } from './avatar.js'
import { arrowKeys, h, keyed } from './dom.js'
import { ConnectionLost, sentence } from './errors.js'
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
    const { store } = this.#app
    const query = this.#input.value.trim().toLowerCase()
    const conversations = store.ordered().filter((conversation) => {
      return !query || store.title(conversation).toLowerCase().includes(query)
    })
    keyed(this.#rows, conversations, (conversation) => this.#row(conversation))
    keyed(this.#people, this.#search.results, (id) => this.#person(id))
    this.#peopleTitle.hidden = this.#search.results.length === 0
    this.#renderEmpty(query, conversations.length)
    this.#enter()
  }

  #renderEmpty(query, count) {
    const { store } = this.#app
    const kind = !store.isLoaded && !store.conversations.size ? 'loading'
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
    const { store } = this.#app
    const title = store.title(conversation)
    const unread = store.unread(conversation)
    const isOpen = this.#app.openID === conversation.id
    const pending = this.#app.pending(conversation.id).at(-1)
    const time = pending?.writtenAt ?? conversation.last_message_time
    const typing = typingText(store, conversation)
    const draft = isOpen ? '' : this.#app.drafts.of(conversation.id)
    const preview = draft || this.#preview(conversation, pending)
    const isMuted = store.mutedUntil(conversation) !== null
    const other = store.other(conversation)
    return {
      key: conversation.id,
      signature: [
        title, unread, isOpen, time && short(time), Boolean(draft), preview, typing, isMuted,
        other && presentSignature(store, other),
      ].join('\n'),
      build: () => h('li', {}, h('button', {
        class: ['row', unread && 'unread', isMuted && 'muted'].filter(Boolean).join(' '),
        type: 'button', tabIndex: -1, 'aria-current': String(isOpen), 'data-id': conversation.id,
        onclick: () => {
          this.#clearSearch()
          this.#app.open(conversation.id)
        },
      },
      conversationChip(store, conversation),
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

  #preview(conversation, pending) {
    const { store } = this.#app
    if (pending) return `${pending.failure === null ? '' : 'Not sent. '}You: ${pending.content || 'A picture'}`
    if (!conversation.last_seq) return 'No messages yet'
    const sender = conversation.last_message_sender_id
    const newest = store.messages.get(conversation.id)?.at(-1)
    if (newest?.seq === conversation.last_seq && newest.event) return eventText(store, newest)
    const content = conversation.last_message_content
    const text = content === null ? 'Message deleted' : content || 'A picture'
    if (sender === store.me?.id) return `You: ${text}`
    return conversation.kind === 'group' ? `${store.name(sender)}: ${text}` : text
  }

  #person(id) {
    const { store } = this.#app
    const person = store.people.get(id)
    return {
      key: id,
      signature: `${presentSignature(store, id)}${person?.username}${person?.is_verified}`,
      build: () => h('li', {}, h('button', {
        class: 'row', type: 'button', tabIndex: -1, 'data-person': id, onclick: () => this.#begin(id),
      }, presentChip(store, id), h('span', { class: 'row-text' },
        h('span', { class: 'row-title' }, store.name(id)),
        h('span', { class: 'row-preview' }, person?.username ? `@${person.username}` : 'No username')))),
    }
  }

  async #begin(userID) {
    try {
      await this.#app.openWith(userID)
      this.#clearSearch()
    } catch (error) {
      toast(error instanceof ConnectionLost ? 'A new conversation needs a connection.' : sentence(error), 'bad')
    }
  }
}

function mutedMark() {
  return h('span', { class: 'muted-mark', role: 'img', 'aria-label': 'Muted', title: 'Muted' }, icon('muted'))
}
