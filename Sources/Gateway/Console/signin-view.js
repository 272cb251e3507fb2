// The page of a user who is not signed in: sign in, register, continue as a guest, or use a demo account.

import { nameChip } from './avatar.js'
import { contactLink, contactName } from './contact.js'
import { h, keyed } from './dom.js'
import { sentence } from './errors.js'
import { field, form, need } from './form.js'
import { icon } from './icons.js'
import {
  checkPassword, confirmForm, emailField, newPasswordField, passwordField, requestResetForm, resetForm,
} from './mail-forms.js'
import { usernameHint } from './profile-view.js'
import * as theme from './theme.js'

const tabNames = [['login', 'Sign in'], ['register', 'Register'], ['guest', 'Guest']]

export class SignInView {
  #app
  #address = ''
  #tabs
  #panel = h('div', { class: 'sign-in-panel' })
  #note = h('p', { class: 'sign-in-note', role: 'status', hidden: true })
  #content
  #people = h('section', { class: 'people', 'aria-labelledby': 'people-title', hidden: true })
  #peopleProblem = h('p', { class: 'form-error', role: 'alert', hidden: true })
  #forgot = h('button', {
    class: 'link-button', type: 'button', hidden: true, onclick: () => this.#show('forgot'),
  }, 'Forgot password?')
  #contact = h('p', { class: 'sign-in-contact', hidden: true })
  #isShown = false
  element

  /// `mailed` is the token of a mailed link, or null.
  constructor(app, { mailed }) {
    this.#app = app
    this.#tabs = h('div', { class: 'tabs', role: 'tablist', 'aria-label': 'Ways to sign in' },
      tabNames.map(([name, label]) => h('button', {
        class: 'tab', type: 'button', role: 'tab', id: `tab-${name}`, 'aria-controls': 'sign-in-panel',
        onclick: () => this.#show(name),
      }, label)))
    this.#tabs.addEventListener('keydown', (event) => this.#key(event))
    this.#panel.id = 'sign-in-panel'
    const themeButton = h('button', {
      class: 'icon-button sign-in-theme', type: 'button', 'aria-label': 'Light or dark',
      onclick: () => {
        theme.toggle()
        themeButton.replaceChildren(icon(theme.isDark() ? 'sun' : 'moon'))
      },
    }, icon(theme.isDark() ? 'sun' : 'moon'))
    this.#content = h('div', { hidden: true }, this.#note, this.#people, this.#tabs, this.#panel, this.#contact)
    this.element = h('main', { class: 'sign-in' },
      themeButton,
      h('div', { class: 'sign-in-card' },
        h('header', { class: 'brand' },
          h('img', { src: '/console/icon.svg', alt: '', width: 44, height: 44 }),
          h('h1', {}, 'Postline'),
          h('p', {}, 'Messages that arrive once, and profiles that are always up to date.')),
        this.#content))
    const panels = { reset_password: 'reset', confirm_email: 'confirm', change_email: 'confirm' }
    this.#show(mailed ? panels[mailed.kind] : 'login', mailed?.token)
  }

  /// Draws what has arrived, and says `note`, if it is not null. What the user has entered stays.
  render(note) {
    if (note) this.#say(note)
    const { start } = this.#app
    this.#forgot.hidden = !start.hasMail
    this.#renderPeople(start.people)
    if (start.contact && this.#contact.hidden) {
      this.#contact.replaceChildren('Contact: ', contactLink(start.contact))
      this.#contact.hidden = false
    }
    if (this.#isShown || start.state !== 'signed_out') return
    this.#isShown = true
    this.#content.hidden = false
    this.#panel.querySelector('input')?.focus()
  }

  #say(text) {
    this.#note.textContent = text ?? ''
    this.#note.hidden = !text
  }

  #key(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
    if (!step) return
    const tabs = [...this.#tabs.children]
    const next = (tabs.indexOf(document.activeElement) + step + tabs.length) % tabs.length
    this.#show(tabNames[next][0])
    tabs[next].focus()
  }

  /// Shows a panel. `token` is that of a mail.
  #show(name, token) {
    const isTab = tabNames.some(([each]) => each === name)
    this.#tabs.hidden = !isTab
    for (const tab of this.#tabs.children) {
      const isSelected = tab.id === `tab-${name}`
      tab.setAttribute('aria-selected', String(isSelected))
      tab.tabIndex = isSelected ? 0 : -1
    }
    if (isTab) {
      this.#panel.setAttribute('role', 'tabpanel')
      this.#panel.setAttribute('aria-labelledby', `tab-${name}`)
    } else {
      this.#panel.removeAttribute('role')
      this.#panel.setAttribute('aria-labelledby', 'panel-title')
    }
    const panels = {
      login: () => this.#login(),
      register: () => this.#register(),
      guest: () => this.#guest(),
      forgot: () => this.#mailPanel('Forgot your password?',
        'If an account has this address, the server sends a mail with a code to it.',
        requestResetForm({ client: this.#app.client, address: this.#address, done: () => this.#show('reset') })),
      reset: () => this.#mailPanel('Set a new password',
        token ? null : 'If an account has this address, a mail is on its way. Its code is valid for an hour.',
        resetForm({ client: this.#app.client, token })),
      confirm: () => this.#mailPanel('Confirm your email address',
        token ? null : 'Enter the code of the mail that was sent to the address.',
        confirmForm({
          token,
          client: this.#app.client,
          done: (email) => {
            this.#show('login')
            this.#say(`${email} is confirmed. You can sign in with it now.`)
          },
        })),
    }
    this.#panel.replaceChildren(panels[name]())
    if (!isTab && this.#isShown) this.#panel.querySelector('input')?.focus()
  }

  #mailPanel(title, text, content) {
    this.#say(null)
    return h('div', { class: 'mail-panel' },
      h('h2', { id: 'panel-title' }, title), text && h('p', {}, text), content,
      h('button', { class: 'link-button', type: 'button', onclick: () => this.#show('login') }, 'Back to sign in'))
  }

  #login() {
    const email = emailField()
    email.input.value = this.#address
    email.input.addEventListener('input', () => { this.#address = email.value.trim() })
    const password = passwordField()
    return form({
      fields: [email, password],
      action: 'Sign in',
      secondary: this.#forgot,
      submit: async () => {
        need([email, password])
        await this.#signIn((client) => client.signIn({ email: email.value.trim(), password: password.value }))
      },
    }).element
  }

  #register() {
    const name = field({ name: 'full_name', label: 'Name', autocomplete: 'name', maxLength: 100 })
    const username = field({
      name: 'username', label: 'Username', optional: true, hint: usernameHint, autocomplete: 'off',
      autocapitalize: 'none', maxLength: 30,
    })
    const email = emailField()
    const password = newPasswordField()
    return form({
      fields: [name, username, email, password],
      action: 'Create account',
      submit: async () => {
        need([name, email])
        checkPassword(password)
        await this.#signIn((client) => client.register({
          fullName: name.value, email: email.value.trim(), password: password.value, username: username.value.trim(),
        }))
      },
    }).element
  }

  #guest() {
    const name = field({
      name: 'full_name', label: 'Name', optional: true, maxLength: 100, autocomplete: 'name',
      hint: 'You can write to people at once, and turn the guest into an account later.',
    })
    return form({
      fields: [name],
      action: 'Continue as guest',
      submit: () => this.#app.client.signInAsGuest({ fullName: name.value.trim() }),
    }).element
  }

  /// Signs in. If the server waits for a confirmed address, asks for the mail's code. A suspended user is told whom to
  /// ask.
  async #signIn(signIn) {
    try {
      await signIn(this.#app.client)
    } catch (error) {
      const { contact } = this.#app.start
      if (error.code === 'account_suspended' && contact) {
        throw new Error(`${sentence(error)} Contact: ${contactName(contact)}`)
      }
      if (error.code !== 'email_unconfirmed') throw error
      this.#show('confirm')
    }
  }

  #renderPeople(people) {
    this.#people.hidden = people.length === 0
    keyed(this.#people, people.length ? [people] : [], () => ({
      key: 'people',
      signature: people.map((person) => person.user_id).join(),
      build: () => h('div', { class: 'people-inside' },
        h('h2', { id: 'people-title' }, 'Sign in with one click'),
        h('div', { class: 'people-grid' }, people.map((person) => this.#person(person))),
        this.#peopleProblem,
        h('p', { class: 'field-hint' },
          'Open this page in a second window and choose another account there: the two are in a conversation.')),
    }))
  }

  #person(person) {
    const button = h('button', { class: 'person-button', type: 'button', title: person.email },
      nameChip(person.full_name), h('span', {}, person.full_name))
    button.addEventListener('click', async () => {
      this.#peopleProblem.hidden = true
      button.disabled = true
      try {
        await this.#app.demo.signIn(person)
      } catch (error) {
        this.#peopleProblem.textContent = sentence(error)
        this.#peopleProblem.hidden = false
      }
      button.disabled = false
    })
    return button
  }
}
