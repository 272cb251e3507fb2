// The open conversation: its messages from the newest back, and where one writes.

import { openFile } from './attachments.js'
import { conversationChip, presentSignature } from './avatar.js'
import { Composer } from './composer.js'
import { moreMenu } from './conversation-actions.js'
import { arrowKeys, h, keyed } from './dom.js'
import { dropZone } from './drop.js'
import { sentence } from './errors.js'
import { ttlText } from './expiry.js'
import { groupDetails } from './group-view.js'
import { icon } from './icons.js'
import { describeMenu, describeRow } from './message-row.js'
import { MuteMenu } from './mute-menu.js'
import { confirm } from './dialog.js'
import { toast } from './notice.js'
import { personDetails } from './person-view.js'
import { PinnedBar } from './pinned-bar.js'
import { ReactionPicker } from './reaction-picker.js'
import { RowMenu } from './row-menu.js'
import { ScheduledBar } from './scheduled.js'
import { onSwipe } from './swipe.js'
import { rowsOf } from './thread-rows.js'
import { lastSeen } from './time.js'
import { typingText } from './typists.js'

/// A user who pauses and continues typing is not announced again each time.
const typingRestMilliseconds = 30_000
/// How long a message that was looked up is highlighted.
const shownMilliseconds = 1600

export class ThreadView {
  #app
  #headInside = h('div', { class: 'thread-head-inside' })
  #mute
  #typing = h('p', { class: 'unseen', role: 'status' })
  #toldTyping = { text: '', at: 0 }
  #list = h('ol', { class: 'messages', 'aria-label': 'Messages' })
  #older = h('div', { class: 'older', hidden: true }, h('span', { class: 'spinner' }), 'Older messages')
  #scroller
  #jump
  #composer
  #menu
  #more
  #picker
  #pinned
  #scheduled
  #handlers
  /// The rows that are shown, by key.
  #rows = new Map()
  #blank = h('div', { class: 'blank' })
  #body
  #enter
  /// The chat that is shown, and the function that ends its subscription.
  #chat = null
  #endChat = () => {}
  /// The user's own mark when the conversation was opened: what came after it is marked as new.
  #markAtOpening = 0
  #isLoading = false
  /// True if older messages have to come from the server, and there was no connection.
  #needsConnection = false
  #isAtEnd = true
  /// The ids of the messages of blocked users that are shown on demand.
  #revealed = new Set()
  /// The conversation that the page was loaded with, which does not take the focus.
  #loadedID
  #height = 0
  /// The newest message that the user had before its eyes.
  #seen = 0
  element

  constructor(app) {
    this.#app = app
    this.#loadedID = app.openID
    this.#mute = new MuteMenu(app)
    this.#composer = new Composer(app, { onSent: () => this.#toEnd() })
    // Without a tabindex, browsers make an element that scrolls a tab stop.
    this.#scroller = h('div', { class: 'thread-scroller', tabIndex: -1, onscroll: () => this.#scrolled() },
      this.#older, this.#list)
    this.#jump = h('button', {
      class: 'jump', type: 'button', hidden: true, onclick: () => this.#toEnd(),
    }, icon('down'), h('span', {}))
    this.#handlers = {
      openPerson: (id) => personDetails(app, id),
      show: (seq) => this.#showMessage(seq),
      reply: (message) => this.#composer.reply(message),
      react: (message) => this.#react(message),
      edit: (message) => this.#composer.edit(message),
      remove: (message) => this.#remove(message),
      isRevealed: ({ id }) => this.#revealed.has(id),
      reveal: ({ id }) => {
        this.#revealed.add(id)
        this.render()
      },
    }
    this.#menu = new RowMenu(this.#list, {
      rows: '.message', anchor: '.bubble', name: 'message-menu', describe: (element) => this.#describeMenu(element),
    })
    this.#picker = new ReactionPicker(app)
    this.#pinned = new PinnedBar(app, this.#handlers.show)
    this.#scheduled = new ScheduledBar(app)
    this.#more = moreMenu(app, () => this.#conversation)
    this.#list.addEventListener('keydown', (event) => this.#key(event))
    onSwipe(this.#list, '.message[data-seq]:not(.deleted, .held)', (element) => {
      this.#handlers.reply(this.#rows.get(element.dataset.key).message)
    })
    this.#body = h('div', { class: 'thread-body', hidden: true },
      h('header', { class: 'thread-head' }, this.#headInside, this.#mute.element, this.#more), this.#pinned.element,
      h('div', { class: 'thread-frame' }, this.#scroller, this.#jump), this.#typing, this.#scheduled.element,
      this.#composer.element,
      this.#menu.element, this.#picker.element,
      h('div', { class: 'drop-hint', 'aria-hidden': 'true' }, icon('picture'), 'Drop to send'))
    dropZone(this.#body, {
      isOpen: () => app.pictures.isOffered && this.#conversation?.is_blocked === false,
      take: (files) => this.#composer.attach(files),
    })
    this.#enter = arrowKeys(this.#list, '.message', (elements) => elements.at(-1))
    this.element = h('main', { class: 'thread', 'aria-label': 'Conversation' }, this.#blank, this.#body)
    document.addEventListener('visibilitychange', () => this.#considerReading())
    new ResizeObserver(() => {
      this.#height = this.#scroller.clientHeight
      if (this.#isAtEnd) this.#scrollToEnd()
    }).observe(this.#scroller)
  }

  get #conversation() { return this.#chat?.conversation ?? null }

  focus() { this.#composer.focus() }

  render() {
    const conversation = this.#app.client.conversation(this.#app.openID)
    const isNew = conversation !== null && this.#chat?.id !== conversation.id
    if (isNew && !this.#isLoaded(conversation.id)) return
    this.#body.hidden = !conversation
    this.#blank.hidden = Boolean(conversation)
    if (!conversation) {
      this.#show(null)
      this.#renderBlank()
      return
    }
    if (isNew) {
      this.#show(this.#app.client.chat(conversation.id))
      this.#markAtOpening = conversation.last_read_seq
      if (conversation.is_marked_unread) this.#endMark(conversation.id)
      this.#seen = conversation.last_read_seq
      this.#isAtEnd = true
      this.#menu.close()
      this.#revealed.clear()
      this.#list.replaceChildren()
      keyed(this.#list, [], () => {})
    }
    this.#renderHead(conversation)
    this.#mute.show(conversation)
    this.#pinned.render(this.#chat)
    this.#scheduled.render(this.#chat)
    this.#sayTyping(typingText(this.#app.directory, conversation, true))
    this.#renderMessages(conversation)
    this.#composer.show(conversation)
    if (isNew) {
      this.#scrollToStart()
      // On a touch screen the keyboard would cover half of what is to be read.
      if (conversation.id !== this.#loadedID && !matchMedia('(pointer: coarse)').matches) this.focus()
      this.#loadedID = null
    }
    this.#considerReading()
    this.#loadOlderIfSeen()
    const { place } = this.#app
    if (place?.id !== conversation.id) return
    this.#app.place = null
    this.#showMessage(place.seq)
  }

  /// Returns true if the messages of a chat are read. If not, the page is drawn again once they are.
  #isLoaded(id) {
    const chat = this.#app.client.chat(id)
    const { isLoaded } = chat.snapshot
    if (!isLoaded) chat.load().then(() => { if (chat.snapshot.isLoaded) this.#app.schedule() })
    return isLoaded
  }

  #show(chat) {
    this.#endChat()
    this.#chat = chat
    this.#endChat = chat?.subscribe(() => this.#app.schedule()) ?? (() => {})
    this.#needsConnection = false
  }

  #renderBlank() {
    const { client } = this.#app
    const kind = client.me ? String(client.conversations.length > 0) : ''
    if (this.#blank.dataset.kind === kind) return
    this.#blank.dataset.kind = kind
    this.#blank.replaceChildren(kind ? h('div', { class: 'blank-inside' },
      h('img', { src: '/console/icon.svg', alt: '', width: 56, height: 56 }),
      h('p', { class: 'empty-title' }, kind === 'true' ? 'Choose a conversation' : 'Nothing here yet'),
      h('p', {}, kind === 'true' ? 'With the arrow keys and Enter, or ' : 'Find somebody to write to with ',
        h('kbd', {}, 'Ctrl'), ' ', h('kbd', {}, 'K'), kind === 'true' ? ' to find a person.' : '.')) : '')
  }

  #renderHead(conversation) {
    const { directory } = this.#app
    const other = directory.other(conversation)
    const person = directory.person(other)
    const title = directory.title(conversation)
    const people = conversation.members.map((member) => {
      return member.user_id === directory.userID ? 'you' : directory.name(member.user_id)
    })
    const seen = directory.lastSeen(other)
    const presence = directory.isOnline(other) ? 'online' : seen ? `last seen ${lastSeen(seen)}` : ''
    const typing = typingText(directory, conversation)
    const ttl = conversation.message_ttl_seconds
    const who = person?.username ? `@${person.username}` : person?.is_guest ? 'Guest' : ''
    // What is new stands first: the end is what a narrow window has no room for.
    const subtitle = typing || (other ? [presence, who].filter(Boolean).join(' · ')
      : `${people.length} ${people.length === 1 ? 'member' : 'members'}: ${people.join(', ')}`)
    keyed(this.#headInside, [conversation], () => ({
      key: conversation.id,
      signature: `${title}\n${other && presentSignature(directory, other)}${person?.is_verified}${ttl}`,
      build: () => h('div', { class: 'thread-head-line' },
        h('button', {
          class: 'icon-button back', type: 'button', 'aria-label': 'Back to the conversations', 'data-focus': 'back',
          onclick: () => this.#app.open(null),
        }, icon('back')),
        h('button', {
          class: 'thread-title', type: 'button', 'data-focus': 'details',
          onclick: () => (other ? personDetails(this.#app, other) : groupDetails(this.#app, conversation.id)),
        },
        conversationChip(directory, conversation),
        h('span', { class: 'row-text' },
          h('span', { class: 'row-line' },
            h('span', { class: 'row-title' }, title, person?.is_verified && verified()), ttl && ttlMark(ttl)),
          h('span', { class: 'row-preview' })),
        h('span', { class: 'unseen' }, ', details'))),
    }))
    // Apart from the rest, which a press may be on at the moment at which somebody begins to type.
    const line = this.#headInside.querySelector('.row-preview')
    if (line.textContent !== subtitle) line.textContent = subtitle
    line.classList.toggle('typing', Boolean(typing))
  }

  /// Says to those who listen that somebody has begun to type.
  #sayTyping(text) {
    if (this.#typing.dataset.text === text) return
    this.#typing.dataset.text = text
    const isFresh = text && (this.#toldTyping.text !== text
      || Date.now() - this.#toldTyping.at > typingRestMilliseconds)
    this.#typing.textContent = isFresh ? text : ''
    if (isFresh) this.#toldTyping = { text, at: Date.now() }
  }

  #renderMessages(conversation) {
    const { directory } = this.#app
    const { messages, hasOlder } = this.#chat
    // A sender who has left the group is known from its messages alone.
    directory.take(messages.map(({ sender }) => sender).filter(Boolean))
    const before = this.#scroller.scrollHeight
    const first = this.#list.querySelector('[data-seq]')?.dataset.seq
    const rows = rowsOf(directory, conversation, messages, this.#markAtOpening)
    this.#rows = new Map(rows.map((row) => [row.key, row]))
    keyed(this.#list, rows, (row) => describeRow(this.#app, row, this.#handlers))
    for (const { id, progress } of messages) {
      if (progress !== null) this.#list.querySelector(`[data-key="${id}"] progress`)?.setAttribute('value', progress)
    }
    this.#older.hidden = !hasOlder
    this.#enter()
    const hasGrownAbove = messages[0]?.seq && first > messages[0].seq
    if (this.#isAtEnd) this.#scrollToEnd()
    else if (hasGrownAbove) this.#scroller.scrollTop += this.#scroller.scrollHeight - before
    this.#renderJump(conversation)
  }

  #describeMenu(element) {
    const row = this.#rows.get(element.dataset.key)
    return describeMenu(this.#app, row, {
      ...this.#handlers,
      openFile: (index) => openFile(element, index),
      openPicture: () => this.#list.querySelector(`[data-key="${row.key}"] button.picture`)?.click(),
    })
  }

  /// The keys of the focused message.
  #key(event) {
    const element = event.target
    if (!element.matches('.message') || event.ctrlKey || event.metaKey || event.altKey) return
    if (event.key === ' ') return this.#take(event, () => this.#menu.open(element))
    const names = {
      Enter: ['picture', 'play', 'down', 'eye'], e: ['edit'], r: ['reply'], '+': ['smile'], Delete: ['trash'],
    }[event.key]
    const action = names && this.#describeMenu(element).actions.find((each) => names.includes(each.name))
    if (action) this.#take(event, action.run)
    else if (event.key === 'Enter') this.#take(event, () => this.#menu.open(element))
  }

  #take(event, act) {
    event.preventDefault()
    act()
  }

  /// Scrolls to a message, which is loaded with those between if necessary, and gives it the focus.
  async #showMessage(seq) {
    const chat = this.#chat
    try {
      await chat.loadFrom(seq)
    } catch (error) {
      return toast(sentence(error, null, 'Older messages need a connection.'), 'bad')
    }
    if (this.#chat !== chat) return
    this.#isAtEnd = false
    this.render()
    const element = this.#list.querySelector(`[data-seq="${seq}"]`)
    if (!element) return toast('This message cannot be shown.', 'bad')
    // `scrollIntoView` would scroll the page too.
    const { top, height } = element.getBoundingClientRect()
    const { top: start, height: room } = this.#scroller.getBoundingClientRect()
    this.#scroller.scrollTop += top - start - Math.max(0, (room - height) / 2)
    element.focus({ preventScroll: true })
    element.classList.add('shown')
    setTimeout(() => element.classList.remove('shown'), shownMilliseconds)
  }

  /// Opens the picker of reactions at a message.
  #react(message) {
    const find = () => this.#list.querySelector(`[data-key="${message.id}"]`)
    this.#picker.open(message, find().querySelector('.bubble'), () => find()?.focus({ preventScroll: true }))
  }

  /// The conversation is read, so it is no longer marked as unread.
  #endMark(id) { this.#app.client.setConversation(id, { is_marked_unread: false }).catch(() => {}) }

  #renderJump(conversation) {
    const waiting = Math.max(0, conversation.last_seq - this.#seen)
    this.#jump.hidden = this.#isAtEnd
    this.#jump.lastElementChild.textContent = waiting ? `${waiting} new` : ''
    this.#jump.setAttribute('aria-label', waiting ? `Go to ${waiting} new messages` : 'Go to the newest message')
  }

  #scrolled() {
    const { scrollTop, scrollHeight, clientHeight } = this.#scroller
    // A scroll that a change of size brought along says nothing of where the user wants to be.
    if (clientHeight === this.#height) this.#isAtEnd = scrollHeight - scrollTop - clientHeight < 20
    this.#considerReading()
    if (this.#conversation) this.#renderJump(this.#conversation)
    this.#loadOlderIfSeen()
  }

  #scrollToEnd() { this.#scroller.scrollTop = this.#scroller.scrollHeight }

  #toEnd() {
    this.#isAtEnd = true
    this.#scrollToEnd()
    this.#considerReading()
    if (this.#conversation) this.#renderJump(this.#conversation)
  }

  /// Scrolls to the first new message, or to the end.
  #scrollToStart() {
    const mark = this.#list.querySelector('.new-mark')
    this.#scrollToEnd()
    if (mark && mark.getBoundingClientRect().top < this.#scroller.getBoundingClientRect().top) {
      mark.scrollIntoView({ block: 'start' })
      this.#scrolled()
    }
  }

  /// Marks as read what the user has before its eyes.
  #considerReading() {
    const conversation = this.#conversation
    if (!conversation || document.visibilityState !== 'visible' || !this.#scroller.offsetParent) return
    const bottom = this.#scroller.getBoundingClientRect().bottom
    const rows = [...this.#list.querySelectorAll('[data-seq]')]
    const seen = rows.findLast((row) => row.getBoundingClientRect().top < bottom - 8)
    if (!seen) return
    this.#seen = Math.max(this.#seen, Number(seen.dataset.seq))
    if (this.#seen > conversation.last_read_seq) this.#chat.markRead({ seq: this.#seen }).catch(() => {})
  }

  async #loadOlderIfSeen() {
    if (!this.#chat?.hasOlder || this.#isLoading || this.#scroller.scrollTop > 400) return
    if (this.#needsConnection && this.#app.client.state.name !== 'live') return
    this.#isLoading = true
    try {
      await this.#chat.loadOlder()
      this.#needsConnection = false
    } catch (error) {
      this.#needsConnection = error.code === 'offline'
      if (!this.#needsConnection) toast(sentence(error), 'bad')
    }
    // Only the next frame has what came; asked before, the next page would come too.
    requestAnimationFrame(() => { this.#isLoading = false })
  }

  async #remove(message) {
    const isMine = message.sender_id === this.#app.directory.userID
    const agreed = await confirm({
      title: 'Delete this message?',
      text: (isMine ? 'It' : `What ${this.#app.directory.name(message.sender_id)} wrote`) + ' is deleted for everyone.'
        + ' That a message was here stays visible.',
      action: 'Delete',
    })
    if (!agreed) return
    try {
      await this.#app.client.call('messages.delete', {
        conversation_id: message.conversation_id, seq: message.seq,
      })
    } catch (error) {
      toast(sentence(error), 'bad')
    }
  }
}

/// The time after which messages are deleted.
function ttlMark(seconds) {
  return h('span', { class: 'row-mark ttl', title: `Messages are deleted after ${ttlText(seconds)}` },
    icon('clock'), h('span', { class: 'unseen' }, 'Messages are deleted after '), ttlText(seconds))
}

function verified() {
  return h('span', { class: 'verified' }, icon('verified'), h('span', { class: 'unseen' }, ' verified'))
}
