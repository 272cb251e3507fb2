// The settings: appearance, notifications, and the account's address, password, sessions and deletion.

import { openBlocked } from './blocks.js'
import { contactLink } from './contact.js'
import { confirm, openDialog } from './dialog.js'
import { h } from './dom.js'
import { sentence } from './errors.js'
import { downloadData } from './export.js'
import { field, form, need } from './form.js'
import { checkPassword, confirmForm, emailField, newPasswordField, passwordField } from './mail-forms.js'
import { toast } from './notice.js'
import * as notifications from './notifications.js'
import * as theme from './theme.js'

export function openSettings(app) {
  const { me } = app.client
  if (!me) return
  const address = h('span', {}, me.email ?? '')
  openDialog({
    title: 'Settings',
    kind: 'settings',
    onClose: app.directory.watch(() => { address.textContent = app.client.me?.email ?? '' }),
    build: (close) => [
      appearanceSection(),
      notificationSection(),
      me.is_guest && section('Account', 'You are a guest. Only this tab can use the account.',
        button('Turn into an account…', () => {
          close()
          upgrade(app)
        })),
      !me.is_guest && app.start.hasMail && section('Email address', address,
        button('Change address…', () => changeAddress(app)),
        button('Enter a code…', () => confirmAddress(app))),
      !me.is_guest && section('Password', 'A new password signs out your other sessions.',
        button('Change password…', () => changePassword(app))),
      section('Sessions', null,
        button('Sign out', () => signOut(app, close, false)),
        !me.is_guest && button('Sign out other sessions…', () => signOutOthers(app)),
        !me.is_guest && button('Sign out everywhere…', () => signOut(app, close, true))),
      section('Privacy', null, button('Blocked users…', () => openBlocked(app)),
        button('Download my data', (event) => downloadData(app.client, event.currentTarget))),
      contactSection(app.client.hello?.contact),
      section('Delete account', 'Your profile and private data are erased. This cannot be undone.',
        h('button', { class: 'button danger-text', type: 'button', onclick: () => deleteAccount(app, close) },
          'Delete account…')),
    ],
  })
}

function section(title, text, ...content) {
  return h('section', { class: 'settings-section' },
    h('h3', {}, title), text && h('p', {}, text), h('div', { class: 'settings-buttons' }, content))
}

/// How users reach the operator, or nothing.
function contactSection(address) {
  return address && section('Contact', 'For questions about this service, and for what reports cannot settle.',
    contactLink(address, 'button'))
}

function button(label, onclick) { return h('button', { class: 'button', type: 'button', onclick }, label) }

function appearanceSection() {
  const { element, input } = field({
    name: 'theme', label: 'Theme', value: theme.chosen(),
    options: [['', 'As the system'], ['light', 'Light'], ['dark', 'Dark']],
    onchange: () => theme.choose(input.value),
  })
  return h('section', { class: 'settings-section' }, h('h3', {}, 'Appearance'), element)
}

function notificationSection() {
  const hint = h('p', { class: 'field-hint', id: 'notifications-hint' })
  const explain = (isRefused) => {
    hint.textContent = !notifications.isSupported ? 'This browser shows notifications only on a page with HTTPS.'
      : isRefused ? 'The browser blocks notifications of this page. Allow them in the browser’s settings of the page.'
        : 'Shown while this page is not visible, and not for muted conversations.'
  }
  const input = h('input', {
    type: 'checkbox', role: 'switch', id: 'notifications', checked: notifications.isOn(),
    disabled: !notifications.isSupported, 'aria-describedby': 'notifications-hint',
    onchange: async () => {
      const wanted = input.checked
      input.checked = await notifications.turn(wanted)
      explain(wanted && !input.checked)
    },
  })
  explain(false)
  return h('section', { class: 'settings-section' }, h('h3', {}, 'Notifications'),
    h('div', { class: 'switch' },
      input, h('label', { for: 'notifications' }, 'Show new messages on the desktop'), hint))
}

/// Opens a small dialog with one form. `submit` gets what closes the dialog.
function formDialog({ title, text, fields, action, submit }) {
  openDialog({
    title,
    kind: 'small',
    build: (close) => [text && h('p', {}, text), form({ fields, action, submit: () => submit(close) }).element],
  })
  fields[0].input.focus()
}

/// Turns the guest into an account with the same conversations.
export function upgrade(app) {
  const email = emailField()
  const password = newPasswordField()
  formDialog({
    title: 'Turn into an account',
    text: 'With an address and a password you can sign in from anywhere. Your conversations stay.',
    fields: [email, password],
    action: 'Turn into an account',
    submit: async (close) => {
      need([email])
      checkPassword(password)
      await app.client.upgrade({ email: email.value.trim(), password: password.value })
      close()
      toast('You have an account now.')
    },
  })
}

function changeAddress(app) {
  const email = emailField('email', 'New address')
  const password = passwordField()
  formDialog({
    title: 'Change address',
    text: 'The server sends a mail with a code to the new address. The old one is valid until you enter the code. '
      + 'With your own address you get another mail that confirms it.',
    fields: [email, password],
    action: 'Send the mail',
    submit: async (close) => {
      need([email, password])
      await app.client.call('auth.request_email_change', { email: email.value.trim(), password: password.value })
      close()
      confirmAddress(app)
    },
  })
}

/// Asks for the code of a mail that confirms an address. `token` is that of a mailed link.
export function confirmAddress(app, token) {
  const { element } = openDialog({
    title: 'Confirm address',
    kind: 'small',
    build: (close) => [
      h('p', {}, 'Enter the code of the mail that was sent to the address. It is valid for an hour.'),
      confirmForm({
        token,
        client: app.client,
        done: async (email) => {
          close()
          toast(`${email} is confirmed.`)
          await app.client.call('me.get')
        },
      }),
    ],
  })
  element.querySelector('input').focus()
}

function changePassword(app) {
  const current = passwordField('current_password', 'Current password')
  const password = newPasswordField('new_password', 'New password')
  formDialog({
    title: 'Change password',
    fields: [current, password],
    action: 'Change password',
    submit: async (close) => {
      need([current])
      checkPassword(password)
      const { revoked } = await app.client.call('auth.change_password', {
        current_password: current.value, new_password: password.value,
      })
      close()
      toast(`Your password is changed. ${signedOut(revoked)}`)
    },
  })
}

function signedOut(count) {
  return count === 1 ? 'One other session was signed out.'
    : count ? `${count} other sessions were signed out.` : 'There was no other session.'
}

async function signOut(app, close, everywhere) {
  const { me } = app.client
  const agreed = !me?.is_guest && !everywhere || await confirm({
    title: everywhere ? 'Sign out everywhere?' : 'Sign out as a guest?',
    text: everywhere ? 'Every device and tab of this account is signed out.'
      : 'Nobody can sign in to a guest again. To keep it, turn it into an account first.',
    action: 'Sign out',
  })
  if (!agreed) return
  try {
    await app.client.signOut({ everywhere, erase: true })
    close()
  } catch (error) {
    toast(sentence(error), 'bad')
  }
}

function signOutOthers(app) {
  const password = passwordField('current_password')
  formDialog({
    title: 'Sign out other sessions',
    text: 'Every other device and tab of this account is signed out. This one stays signed in.',
    fields: [password],
    action: 'Sign out other sessions',
    submit: async (close) => {
      need([password])
      // Setting a password ends every other session; here it is the same password again.
      const { revoked } = await app.client.call('auth.change_password', {
        current_password: password.value, new_password: password.value,
      })
      close()
      toast(signedOut(revoked))
    },
  })
}

function deleteAccount(app, closeSettings) {
  const isGuest = app.client.me.is_guest
  const password = passwordField()
  const fields = isGuest ? [] : [password]
  const { element } = openDialog({
    title: 'Delete account',
    kind: 'small',
    build: (close) => [
      h('div', { class: 'callout bad' },
        h('p', {}, h('strong', {}, 'This cannot be undone.'),
          ' Your profile, your settings and your picture are erased, and every session is signed out.',
          ' Messages that you sent stay in their conversations, from “Deleted user”.')),
      form({
        fields,
        children: fields.map((each) => each.element),
        action: 'Delete my account',
        isDangerous: true,
        secondary: h('button', { class: 'button', type: 'button', onclick: close }, 'Cancel'),
        submit: async () => {
          need(fields)
          await app.deleteAccount(isGuest ? {} : { password: password.value })
          close()
          closeSettings()
        },
      }).element,
    ],
  })
  element.querySelector('input')?.focus()
}
