// Forms for the tokens that the server mails: a new password, and the confirmation of an address.

import { FieldProblem, field, form, need } from './form.js'

/// Returns the kind and the token of a mailed link (docs/accounts.md), or null if the fragment is none.
export function mailedToken(fragment) {
  const fields = new URLSearchParams(fragment.replace(/^#/, ''))
  const kind = fields.get('kind')
  const token = fields.get('token')
  return token && ['reset_password', 'confirm_email', 'change_email'].includes(kind) ? { kind, token } : null
}

/// Asks for a mail with which a forgotten password is replaced. `done` is called once it was asked for.
export function requestResetForm({ client, address, done }) {
  const email = emailField()
  email.input.value = address ?? ''
  return form({
    fields: [email],
    action: 'Send the mail',
    submit: async () => {
      need([email])
      await client.call('auth.request_password_reset', { email: email.value.trim() })
      done()
    },
  }).element
}

/// Sets a new password with the token of a mail, and signs in.
export function resetForm({ client, token }) {
  const code = tokenField(token)
  const password = newPasswordField()
  return form({
    fields: [code, password],
    action: 'Set the password and sign in',
    submit: async () => {
      need([code])
      checkPassword(password)
      await client.resetPassword({ token: code.value.trim(), password: password.value })
    },
  }).element
}

/// Confirms an address with the token of a mail. `done` gets the confirmed address.
export function confirmForm({ client, token, done }) {
  const code = tokenField(token)
  return form({
    fields: [code],
    action: 'Confirm the address',
    submit: async () => {
      need([code])
      const { email } = await client.call('auth.confirm_email', { token: code.value.trim() })
      await done(email)
    },
  }).element
}

function tokenField(token) {
  return field({
    name: 'token', label: 'Code from the mail', value: token ?? '', autocomplete: 'one-time-code',
    autocapitalize: 'none', spellcheck: false,
  })
}

export function emailField(name = 'email', label = 'Email') {
  return field({
    name, label, type: 'email', autocomplete: 'username', inputMode: 'email', autocapitalize: 'none',
  })
}

/// A field for the current password. `name` is the protocol's parameter.
export function passwordField(name = 'password', label = 'Password') {
  return field({ name, label, type: 'password', autocomplete: 'current-password' })
}

export function newPasswordField(name = 'password', label = 'Password') {
  return field({ name, label, type: 'password', autocomplete: 'new-password', hint: 'At least 8 characters.' })
}

/// Throws if the new password is too short or too long. The server counts bytes of UTF-8.
export function checkPassword(password) {
  const bytes = new TextEncoder().encode(password.value).length
  if (bytes < 8) throw new FieldProblem(password.name, 'A password has at least 8 characters.')
  if (bytes > 72) throw new FieldProblem(password.name, 'The password is too long: the limit is 72 bytes.')
}
