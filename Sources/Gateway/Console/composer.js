// The field at the end of a conversation, for a new message or the new text of one that the user has sent.

import { captionOf } from './attachments.js'
import { unblock } from './blocks.js'
import { h } from './dom.js'
import { sentence } from './errors.js'
import { icon } from './icons.js'
import { MentionMenu } from './mention-menu.js'
import { mentionParams } from './mentions.js'
import { announce, toast } from './notice.js'
import { previewFiles } from './picture-preview.js'
import { canRecord } from './recording.js'
import { quotedName, quotedText } from './reply-quote.js'
import { askForTime } from './scheduled.js'
import { soon } from './time.js'
import { VoiceBar } from './voice-bar.js'

const mostCharacters = 8000

export class Composer {
  #app
  #onSent
  #conversation = null
  #chat = null
  #editing = null
  /// The message that the next one answers.
  #replyTo = null
  #input
  #mentions
  #count = h('span', { class: 'count', hidden: true })
  #problem = h('p', { class: 'form-error', role: 'alert', hidden: true })
  #banner
  #bannerIcon = h('span', { class: 'banner-icon' })
  #bannerText = h('span', { class: 'banner-text' })
  #blocked
  #blockedText = h('span')
  #button
  #later
  #attach
  #microphone
  #line
  #voice
  element

  constructor(app, { onSent }) {
    this.#app = app
    this.#onSent = onSent
    this.#input = h('textarea', {
      id: 'compose', rows: 1, placeholder: 'Write a message', 'aria-label': 'Write a message',
      autocomplete: 'off', dir: 'auto',
      oninput: () => {
        this.#changed()
        this.#mentions.update(this.#conversation)
        if (!this.#editing) this.#keepDraft(this.#input.value)
      },
      onkeydown: (event) => this.#key(event),
      onpaste: (event) => this.#paste(event),
    })
    this.#mentions = new MentionMenu(app, this.#input, () => {
      this.#changed()
      if (!this.#editing) this.#keepDraft(this.#input.value)
    })
    const chooser = h('input', {
      type: 'file', multiple: true, hidden: true, tabIndex: -1, 'aria-label': 'Files to send',
      onchange: () => {
        this.attach([...chooser.files])
        // Or the same one could not be chosen again.
        chooser.value = ''
      },
    })
    this.#attach = h('button', {
      class: 'icon-button attach', type: 'button', hidden: true, 'aria-label': 'Send a file',
      title: 'Send a picture or another file; or paste it, or drop it here', onclick: () => chooser.click(),
    }, icon('paperclip'))
    this.#banner = h('div', { class: 'edit-banner', hidden: true }, this.#bannerIcon, this.#bannerText,
      h('button', { class: 'link-button', type: 'button', onclick: () => this.#cancel() }, 'Cancel'))
    this.#button = h('button', {
      class: 'send', type: 'submit', 'aria-label': 'Send', title: 'Send (Enter)',
    }, icon('send'))
    this.#later = h('button', {
      class: 'icon-button later', type: 'button', 'aria-label': 'Send later', title: 'Send later',
      onclick: () => askForTime((date) => this.#sendLater(date)),
    }, icon('clock'))
    this.#microphone = h('button', {
      class: 'icon-button microphone', type: 'button', hidden: true, 'aria-label': 'Record a voice message',
      title: 'Record a voice message', onclick: () => this.#record(),
    }, icon('microphone'))
    this.#voice = new VoiceBar({
      onSend: (file) => this.#sendVoice(file),
      onClose: () => {
        this.#line.hidden = false
        this.focus()
      },
      onProblem: (problem) => this.#say(problem),
    })
    this.#line = h('div', { class: 'composer-line' },
      this.#attach, this.#input, this.#count, this.#later, this.#microphone, this.#button)
    this.#blocked = h('p', { class: 'composer-blocked' }, this.#blockedText, h('button', {
      class: 'link-button', type: 'button', onclick: async () => {
        await unblock(app, app.directory.other(this.#conversation))
        this.focus()
      },
    }, 'Unblock'), ' to write.')
    this.element = h('form', {
      class: 'composer', noValidate: true,
      onsubmit: (event) => {
        event.preventDefault()
        this.#submit()
      },
    }, this.#mentions.element, this.#blocked, this.#banner, this.#problem, this.#line, this.#voice.element, chooser)
  }

  focus() { this.#input.focus() }

  /// True if the server takes files of every kind.
  get #takesAll() { return this.#app.client.hello?.features.includes('attachments') !== false }

  /// Shows files before they are sent to the conversation. What is written already becomes their caption.
  attach(files) {
    const chat = this.#chat
    const hasText = !this.#editing
    const reply = this.#replyParams()
    previewFiles({
      files,
      takesAll: this.#takesAll,
      title: this.#app.directory.title(this.#conversation),
      caption: hasText ? this.#input.value : '',
      onSend: async (pictures) => {
        if (hasText) {
          this.#keepDraft('', chat)
          this.#replyTo = null
          if (this.#chat === chat) this.#write('')
        }
        this.#onSent()
        this.focus()
        // Pictures are messages of their own, with one caption. Other files are one message.
        if (!pictures.every(({ picture }) => picture.type.startsWith('image/'))) {
          announce('Sending the files.')
          const { content } = pictures.at(-1)
          const options = {
            ...content && { content },
            ...mentionParams(this.#app.directory, chat.conversation, content ?? ''), ...reply,
          }
          return chat.sendFiles(pictures.map(({ picture }) => picture), options)
            .catch((error) => toast(sentence(error), 'bad'))
        }
        for (const [index, { picture, content }] of pictures.entries()) {
          announce(`Sending ${picture.name ?? 'the picture'}.`)
          const options = {
            content, ...mentionParams(this.#app.directory, chat.conversation, content ?? ''), ...index === 0 && reply,
          }
          await chat.sendPicture(picture, options).catch((error) => toast(sentence(error), 'bad'))
        }
      },
    })
  }

  async #record() {
    this.#problem.hidden = true
    const chat = this.#chat
    this.#line.hidden = await this.#voice.start(() => this.#chat === chat && !this.#editing)
  }

  async #sendVoice(file) {
    const reply = this.#replyParams()
    this.#replyTo = null
    this.#drawBanner()
    this.#onSent()
    announce('Sending the voice message.')
    await this.#chat.sendFiles([file], reply).catch((error) => toast(sentence(error), 'bad'))
  }

  #paste(event) {
    const files = [...event.clipboardData?.files ?? []]
    // What was copied from a document is text with a picture of it: the text is what is meant.
    if (!files.length || event.clipboardData.types.includes('text/plain') || !this.#app.pictures.isOffered) return
    event.preventDefault()
    this.attach(files)
  }

  /// Shows the draft of a conversation.
  show(conversation) {
    this.#attach.hidden = !this.#app.pictures.isOffered
    this.#showMicrophone()
    this.#showBlock(conversation)
    if (this.#conversation?.id === conversation.id) {
      this.#conversation = conversation
      return
    }
    this.#chat?.setTyping(false)
    this.#voice.abandon()
    this.#conversation = conversation
    this.#chat = this.#app.client.chat(conversation.id)
    this.#editing = this.#replyTo = null
    this.#write(conversation.draft)
  }

  /// In place of the field is why the user cannot write to a user whom it blocks.
  #showBlock(conversation) {
    const text = `You have blocked ${this.#app.directory.title(conversation)}. `
    if (this.#blockedText.textContent !== text) this.#blockedText.textContent = text
    this.element.classList.toggle('blocked', conversation.is_blocked)
  }

  /// Makes the next message an answer to a message.
  reply(message) {
    if (this.#conversation.is_blocked) return
    if (this.#editing) this.#write(this.#conversation.draft)
    this.#editing = null
    this.#replyTo = message
    this.#drawBanner()
    this.focus()
  }

  edit(message) {
    this.#chat.setTyping(false)
    this.#voice.abandon()
    this.#replyTo = null
    this.#editing = message
    this.#write(captionOf(message) ?? '')
    this.focus()
  }

  #replyParams() { return this.#replyTo && !this.#editing ? { reply_to_seq: this.#replyTo.seq } : {} }

  #cancel() {
    if (this.#editing) return this.#stopEditing()
    this.#replyTo = null
    this.#drawBanner()
    this.focus()
  }

  #drawBanner() {
    const { directory } = this.#app
    const quoted = this.#replyTo
    this.#banner.hidden = !this.#editing && !quoted
    this.#bannerIcon.replaceChildren(icon(this.#editing ? 'edit' : 'reply'))
    this.#bannerText.replaceChildren(...this.#editing || !quoted ? ['Editing your message'] : [
      h('span', { class: 'quote-name' }, `Replying to ${quoted.sender_id === directory.userID ? 'yourself'
        : quotedName(directory, quoted)}`),
      h('span', { class: 'quote-text', dir: 'auto' }, quotedText(quoted))])
    this.#button.setAttribute('aria-label', this.#editing ? 'Save' : 'Send')
    this.#input.setAttribute('aria-label', this.#editing ? 'Edit your message' : quoted
      ? `Write a reply to ${quotedName(directory, quoted)}` : 'Write a message')
  }

  #stopEditing() {
    this.#editing = null
    this.#write(this.#conversation.draft)
    this.focus()
  }

  #keepDraft(text, chat = this.#chat) {
    // What cannot be stored stays in its field.
    chat.setDraft(text.trim() ? text : '').catch(() => {})
  }

  #write(text) {
    this.#input.value = text
    this.#mentions.close()
    this.#drawBanner()
    this.#changed()
  }

  /// A voice message takes the place of a text, so it is offered where there is none.
  #showMicrophone() {
    this.#microphone.hidden = !canRecord() || this.#attach.hidden || !this.#takesAll || Boolean(this.#editing)
      || Boolean(this.#input.value.trim())
  }

  #changed() {
    this.#problem.hidden = true
    this.#showMicrophone()
    const length = [...this.#input.value].length
    this.#count.hidden = length < mostCharacters - 500
    this.#count.textContent = length > mostCharacters
      ? `${length - mostCharacters} too many`
      : `${mostCharacters - length} left`
    this.#count.classList.toggle('over', length > mostCharacters)
    // Only a caption may be empty.
    const isEmpty = !this.#input.value.trim() && ![
      'image', 'video', 'audio', 'file'].includes(this.#editing?.kind)
    this.#button.disabled = isEmpty || length > mostCharacters
    this.#later.hidden = this.#button.disabled || Boolean(this.#editing)
      || this.#conversation?.scheduled_count === undefined
    // Measured while its surroundings stay as they are, or the messages would jump with every letter.
    this.element.style.minHeight = `${this.element.offsetHeight}px`
    this.#input.style.height = 'auto'
    this.#input.style.height = `${Math.min(200, this.#input.scrollHeight)}px`
    this.element.style.minHeight = ''
  }

  #key(event) {
    if (this.#mentions.key(event)) return
    // On a touch keyboard Enter is a new line; there is a button to send.
    const sends = event.key === 'Enter' && !event.shiftKey && !event.isComposing
      && !matchMedia('(pointer: coarse)').matches
    if (sends) {
      event.preventDefault()
      this.#submit()
    } else if (event.key === 'Escape' && (this.#editing || this.#replyTo)) {
      event.preventDefault()
      this.#cancel()
    } else if (event.key === 'ArrowUp' && !this.#input.value && !this.#editing) {
      const last = this.#chat.messages.findLast(({ sender_id: sender, seq, deleted_at: deletedAt, kind }) => {
        return sender === this.#app.directory.userID && seq && !deletedAt && kind === 'text'
      })
      if (last) {
        event.preventDefault()
        this.edit(last)
      }
    }
  }

  async #submit() {
    const content = this.#input.value
    if (this.#button.disabled) return
    if (this.#editing) return this.#save(this.#editing, content)
    const options = { ...mentionParams(this.#app.directory, this.#conversation, content), ...this.#replyParams() }
    const [chat, quoted] = [this.#chat, this.#replyTo]
    this.#replyTo = null
    this.#write('')
    this.#onSent()
    this.focus()
    try {
      await chat.send(content, options)
    } catch (error) {
      if (this.#chat === chat) this.#replyTo ??= quoted
      if (!this.#input.value) this.#write(content)
      this.#say(sentence(error, 'The message'))
    }
  }

  async #sendLater(dueAt) {
    const content = this.#input.value
    const chat = this.#chat
    const options = { ...mentionParams(this.#app.directory, this.#conversation, content), ...this.#replyParams() }
    this.#later.disabled = true
    try {
      await this.#app.client.schedule(chat.id, content, dueAt, options)
      announce(`Scheduled: ${soon(dueAt)}.`)
      this.#keepDraft('', chat)
      if (this.#chat === chat && this.#input.value === content) {
        this.#replyTo = null
        this.#write('')
      }
    } catch (error) {
      this.#say(sentence(error, 'The message', 'Scheduling needs a connection. Your text stays here until it is back.'))
    }
    this.#later.disabled = false
    this.focus()
  }

  async #save(message, content) {
    if (content === (captionOf(message) ?? '')) return this.#stopEditing()
    this.#button.disabled = true
    try {
      await this.#app.client.call('messages.edit', {
        conversation_id: message.conversation_id, seq: message.seq, content,
        ...mentionParams(this.#app.directory, this.#conversation, content, message),
      })
      announce('Saved.')
      if (this.#editing === message) this.#stopEditing()
    } catch (error) {
      this.#button.disabled = false
      this.#say(sentence(
        error, 'The message', 'A change needs a connection. Your text stays here until it is back.'))
    }
  }

  #say(problem) {
    this.#problem.textContent = problem
    this.#problem.hidden = false
  }
}
