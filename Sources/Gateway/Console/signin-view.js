// The door: sign in, register, come as a guest, or be one of the people of the dev world with one click.

import { nameChip } from './avatar.js'
import { h } from './dom.js'
import { sentence } from './errors.js'
import { FieldProblem, field, form, need } from './form.js'
import { icon } from './icons.js'
import * as theme from './theme.js'
import { usernameHint } from './profile-view.js'

/// `people` are those of the dev world; elsewhere there are none.
export function signInView({ link, people, notice }) {
  const panel = h('div', { class: 'door-panel', role: 'tabpanel', 'aria-labelledby': 'tab-login' })
  const doors = [['login', 'Sign in', login], ['register', 'Register', register], ['guest', 'As a guest', guest]]
  const tabs = h('div', { class: 'tabs', role: 'tablist', 'aria-label': 'How to come in' },
    doors.map(([name, label]) => h('button', {
      class: 'tab', type: 'button', role: 'tab', id: `tab-${name}`, onclick: () => show(name),
    }, label)))
  tabs.addEventListener('keydown', (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
    if (!step) return
    const at = [...tabs.children].indexOf(document.activeElement)
    const next = doors[(at + step + doors.length) % doors.length][0]
    show(next)
    tabs.querySelector(`#tab-${next}`).focus()
  })

  function show(name) {
    for (const tab of tabs.children) {
      const isShown = tab.id === `tab-${name}`
      tab.setAttribute('aria-selected', String(isShown))
      tab.tabIndex = isShown ? 0 : -1
    }
    panel.setAttribute('aria-labelledby', `tab-${name}`)
    panel.replaceChildren(doors.find(([each]) => each === name)[2]())
  }

  function login() {
    const email = emailField()
    const password = field({ name: 'password', label: 'Password', type: 'password', autocomplete: 'current-password' })
    return form({
      fields: [email, password],
      action: 'Sign in',
      submit: async () => {
        need([email, password])
        await link.signIn('auth.login', { email: email.value.trim(), password: password.value })
      },
    }).element
  }

  function register() {
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
        await link.signIn('auth.register', {
          full_name: name.value, email: email.value.trim(), password: password.value,
          ...(username.value.trim() && { username: username.value.trim() }),
        })
      },
    }).element
  }

  function guest() {
    const name = field({
      name: 'full_name', label: 'Name', optional: true, maxLength: 100, autocomplete: 'name',
      hint: 'Write to people at once. You can keep it all later, by giving an address and a password.',
    })
    return form({
      fields: [name],
      action: 'Come in as a guest',
      submit: () => link.signIn('auth.guest', name.value.trim() ? { full_name: name.value } : {}),
    }).element
  }

  const trouble = h('p', { class: 'form-error', role: 'alert', hidden: true })
  const person = ({ email, password, full_name: name }) => {
    const button = h('button', { class: 'person-button', type: 'button', title: email },
      nameChip(name), h('span', {}, name))
    button.addEventListener('click', async () => {
      trouble.hidden = true
      button.disabled = true
      try {
        await link.signIn('auth.login', { email, password })
      } catch (error) {
        trouble.textContent = sentence(error)
        trouble.hidden = false
      }
      button.disabled = false
    })
    return button
  }

  const themeButton = h('button', {
    class: 'icon-button door-theme', type: 'button', 'aria-label': 'Light or dark',
    onclick: () => {
      theme.toggle()
      themeButton.replaceChildren(icon(theme.isDark() ? 'sun' : 'moon'))
    },
  }, icon(theme.isDark() ? 'sun' : 'moon'))

  show('login')
  return h('main', { class: 'door' },
    themeButton,
    h('div', { class: 'door-card' },
      h('header', { class: 'brand' },
        h('img', { src: '/console/icon.svg', alt: '', width: 44, height: 44 }),
        h('h1', {}, 'Postline'),
        h('p', {}, 'Messages that arrive, once, and profiles that are never stale.')),
      notice && h('p', { class: 'door-notice', role: 'status' }, notice),
      tabs, panel,
      people.length > 0 && h('section', { class: 'people', 'aria-labelledby': 'people-title' },
        h('h2', { id: 'people-title' }, 'Or be somebody of the dev world'),
        h('div', { class: 'people-grid' }, people.map(person)),
        trouble,
        h('p', { class: 'field-hint' }, 'Each tab is a person of its own: open a second one, and talk to yourself.'))))
}

export function emailField() {
  return field({
    name: 'email', label: 'Email', type: 'email', autocomplete: 'username', inputMode: 'email', autocapitalize: 'none',
  })
}

export function newPasswordField() {
  return field({
    name: 'password', label: 'Password', type: 'password', autocomplete: 'new-password', hint: 'At least 8 characters.',
  })
}

/// The server counts bytes: a letter with an accent is two of them.
export function checkPassword(password) {
  const bytes = new TextEncoder().encode(password.value).length
  if (bytes < 8) throw new FieldProblem('password', 'A password has at least 8 characters.')
  if (bytes > 72) throw new FieldProblem('password', 'That is too long for a password: 72 bytes are the most.')
}
