// The user's own profile: a form that is saved as a whole, and that shows what was changed elsewhere in the meantime.

import { upgrade } from './account-view.js'
import { avatarChip, customAvatar, nameChip, personChip, pictureChip } from './avatar.js'
import { avatarPicture } from './client/index.js'
import { confirm, openDialog } from './dialog.js'
import { h } from './dom.js'
import { dropZone } from './drop.js'
import { sentence } from './errors.js'
import { FieldProblem, field, form, need } from './form.js'
import { announce } from './notice.js'
import { accepted, prepare } from './picture-file.js'
import { date } from './time.js'

export const usernameHint = '3 to 30 of a–z, 0–9, _ and . beginning with a letter.'

/// The screen's fields: `path` is where Me has it, which is also how me.save takes it.
const parts = [
  { path: 'full_name', label: 'Name', maxLength: 100, autocomplete: 'name' },
  {
    path: 'username', label: 'Username', maxLength: 30, autocapitalize: 'none', spellcheck: false, autocomplete: 'off',
  },
  { path: 'bio', label: 'About you', multiline: true, rows: 3, maxLength: 500 },
  { path: 'location', label: 'Location', maxLength: 100 },
  { path: 'website', label: 'Website', type: 'url', placeholder: 'https://' },
  { path: 'language_code', label: 'Language', placeholder: 'en', hint: 'A language tag, such as en, fr or pt-BR.' },
  {
    path: 'phone_number', label: 'Phone', type: 'tel', placeholder: '+33612345678',
    hint: 'With + and the country’s code.',
  },
  { path: 'date_of_birth', label: 'Date of birth', type: 'date' },
  {
    path: 'physical.height_cm', label: 'Height in cm', type: 'number', min: 30, max: 300, step: 'any',
    inputMode: 'decimal',
  },
  {
    path: 'physical.biological_sex', label: 'Sex',
    options: [['', 'Prefer not to say'], ['female', 'Female'], ['male', 'Male'], ['other', 'Other']],
  },
  {
    path: 'preferred_unit_system', label: 'Units',
    options: [['', 'Prefer not to say'], ['metric', 'Metric'], ['imperial', 'Imperial']],
  },
]
const sections = [
  ['What others see', ['full_name', 'username', 'bio', 'location', 'language_code', 'website']],
  ['For you alone', [
    'phone_number', 'date_of_birth', 'physical.height_cm', 'physical.biological_sex', 'preferred_unit_system',
  ]],
]

/// The chooser's value for a saved picture, and for a new one.
const custom = Symbol('custom')
const chosen = Symbol('chosen')

function avatarOf(me) { return me.avatar_type === 'custom' ? custom : me.avatar_id }

export function editProfile(app) {
  const { client, directory } = app
  if (!client.me) return
  /// The data that the form last matched.
  let base = client.me
  let avatarID = avatarOf(base)
  /// The picture that was chosen here, as it is uploaded once it is saved.
  let picture = null
  const closing = new AbortController()
  /// Values that changed elsewhere while they were being changed here.
  const conflicts = new Map()
  let unwatch

  const fields = new Map(parts.map(({ path, ...rest }) => {
    const made = field({ name: path, hint: path === 'username' ? usernameHint : rest.hint, ...rest })
    made.input.value = text(base, path)
    made.conflict = h('p', { class: 'conflict', hidden: true })
    made.element.append(made.conflict)
    return [path, made]
  }))
  /// Its two values are the screen's own switch, which nothing can contradict.
  const hides = h('input', {
    type: 'checkbox', role: 'switch', id: 'hides-presence', checked: directory.hidesPresence,
    'aria-describedby': 'hides-presence-hint',
  })
  const picker = h('fieldset', { class: 'avatars', name: 'avatar.avatar_id' })
  const banner = h('p', { class: 'conflict-banner', role: 'status', hidden: true })
  const preview = h('div', { class: 'profile-preview' })
  const pictureProblem = h('p', { class: 'field-error', role: 'alert', hidden: true })
  const bar = h('progress', {
    max: 1, value: 0, hidden: true, class: 'upload-bar', 'aria-label': 'Uploading your picture',
  })
  const chooser = h('input', {
    type: 'file', accept: accepted, hidden: true, tabIndex: -1, 'aria-label': 'Your picture',
    onchange: () => {
      choose(chooser.files[0])
      chooser.value = ''
    },
  })

  function text(me, path) { return String(path.split('.').reduce((value, name) => value?.[name], me) ?? '') }

  function isHidden(me) { return me.preferences?.presence === 'nobody' }

  function isMine(path) { return fields.get(path).value !== text(base, path) }

  /// Goes on from what the server has now: what was not touched here follows it, what was is shown beside it.
  function rebase(current) {
    if (current.version <= base.version) return
    for (const [path, made] of fields) {
      const theirs = text(current, path)
      if (theirs === text(base, path)) continue
      if (!isMine(path) || made.value === theirs) {
        made.input.value = theirs
        conflicts.delete(path)
      } else {
        conflicts.set(path, theirs)
      }
    }
    if (avatarID === avatarOf(base)) avatarID = avatarOf(current)
    // Saved, by an answer that did not come back.
    if (avatarID === chosen && picture.mediaID && current.avatar_url?.includes(picture.mediaID)) avatarID = custom
    if (hides.checked === isHidden(base)) hides.checked = isHidden(current)
    base = current
    drawConflicts()
    drawAvatars()
    drawCooldown()
  }

  function drawConflicts() {
    for (const [path, made] of fields) {
      made.conflict.hidden = !conflicts.has(path)
      if (!conflicts.has(path)) continue
      const theirs = conflicts.get(path)
      made.conflict.replaceChildren(theirs ? `Changed elsewhere, to “${theirs}” ` : 'Cleared elsewhere. ',
        h('button', {
          class: 'link-button', type: 'button',
          onclick: () => {
            made.input.value = theirs
            conflicts.delete(path)
            drawConflicts()
            made.input.focus()
          },
        }, 'Take that'))
    }
    banner.hidden = conflicts.size === 0
    banner.textContent = 'Your profile was changed elsewhere meanwhile. What differs is marked below: '
      + 'take it, or save to keep yours.'
  }

  function drawAvatars() {
    const name = fields.get('full_name').value || directory.name(base.id)
    const choice = (id, label, chip) => h('label', { class: 'avatar-choice', title: label },
      h('input', {
        type: 'radio', name: 'avatar', value: typeof id === 'string' ? id : '', checked: avatarID === id,
        'aria-label': label,
        onchange: () => {
          avatarID = id
          drawPreview()
        },
      }), chip)
    picker.replaceChildren(h('legend', {}, 'Avatar'),
      choice(null, 'Your initial', nameChip(name, 'medium', base.id)),
      base.avatar_type === 'custom' ? choice(custom, 'Your picture', personChip(directory, base.id)) : '',
      picture ? choice(chosen, 'Your new picture', pictureChip(picture.shown, nameChip(name, 'medium', base.id))) : '',
      ...[...directory.avatars.values()].map((avatar) => choice(avatar.id, avatar.name, avatarChip(avatar, name))))
    drawPreview()
  }

  function drawPreview() {
    const name = fields.get('full_name').value || directory.name(base.id)
    const avatar = directory.avatars.get(avatarID)
    preview.replaceChildren(
      avatarID === chosen ? pictureChip(picture.shown, nameChip(name, 'large', base.id))
        : avatarID === custom ? pictureChip(customAvatar(base), nameChip(name, 'large', base.id))
          : avatar ? avatarChip(avatar, name, 'large')
            : avatarID ? personChip(directory, base.id, 'large') : nameChip(name, 'large', base.id),
      h('div', {}, h('p', { class: 'preview-name' }, name),
        h('p', { class: 'row-preview' }, base.is_guest ? 'Guest' : base.email ?? '')))
  }

  /// Takes a picture for an avatar; it is shown here alone until it is saved.
  async function choose(file) {
    if (!file) return
    pictureProblem.hidden = true
    try {
      const made = await prepare(file, avatarPicture)
      if (closing.signal.aborted) return
      if (picture) URL.revokeObjectURL(picture.shown)
      picture = { ...made, shown: URL.createObjectURL(made.blob), mediaID: null }
      avatarID = chosen
      drawAvatars()
      picker.querySelector(':checked')?.focus()
      announce('Your new picture is chosen. Save to show it to others.')
    } catch (error) {
      pictureProblem.textContent = error.message
      pictureProblem.hidden = false
    }
  }

  async function uploadPicture() {
    bar.hidden = false
    try {
      picture.mediaID = await client.uploadAvatar(picture, {
        signal: closing.signal, onProgress: (part) => { bar.value = part },
      })
    } catch (error) {
      // Its fields are not this form's.
      throw new Error(sentence(error, 'The picture') + (error.code === 'unavailable' ? ' Save to try again.' : ''))
    } finally {
      bar.hidden = true
    }
  }

  function drawCooldown() {
    const username = fields.get('username')
    const until = base.username_change_allowed_at
    const isHeld = Boolean(until) && new Date(until) > new Date()
    username.input.readOnly = isHeld
    username.element.querySelector('.field-hint').textContent = isHeld
      ? `A username can be changed once in 90 days: yours from ${date(until)} on.`
      : base.username ? `${usernameHint} After a change it stays for 90 days.` : usernameHint
  }

  /// Returns the changes for me.save, or null if there are none.
  function patch() {
    const changed = {}
    for (const [path, made] of fields) {
      if (!isMine(path)) continue
      const [name, inner] = path.split('.')
      const value = made.value.trim() === '' ? null : inner === 'height_cm' ? Number(made.value) : made.value
      if (inner) changed[name] = { ...changed[name], [inner]: value }
      else changed[name] = value
    }
    if (avatarID === chosen) {
      changed.avatar = { avatar_type: 'custom', media_id: picture.mediaID }
    } else if (avatarID !== avatarOf(base)) {
      changed.avatar = avatarID ? { avatar_type: 'built_in', avatar_id: avatarID } : { avatar_type: null }
    }
    if (hides.checked !== isHidden(base)) changed.preferences = { presence: hides.checked ? 'nobody' : null }
    return Object.keys(changed).length ? changed : null
  }

  async function save(close) {
    if (!base.is_guest) need([fields.get('full_name')])
    const username = fields.get('username')
    const wanted = username.value.trim()
    if (isMine('username') && wanted && !/^[a-z][a-z0-9_.]{2,29}$/i.test(wanted)) {
      throw new FieldProblem('username', `A username is ${usernameHint}`)
    }
    if (avatarID === chosen && !picture.mediaID) await uploadPicture()
    const changed = patch()
    if (!changed) return close()
    try {
      await client.call('me.save', { ...changed, if_version: base.version })
      close()
      announce('Your profile is saved.')
    } catch (error) {
      if (error.code !== 'version_conflict') {
        // What the server did not take is uploaded anew.
        if (picture && error.field?.startsWith('avatar')) picture.mediaID = null
        throw error
      }
      rebase(error.data.current ?? await client.call('me.get'))
      if (conflicts.size === 0) return save(close)
      banner.scrollIntoView({ block: 'nearest' })
    }
  }

  const { dismiss, element } = openDialog({
    title: 'Your profile',
    kind: 'profile',
    mayClose: () => patch() === null || confirm({
      title: 'Discard your changes?', text: 'What you changed in your profile is not saved.', action: 'Discard',
    }),
    onClose: () => {
      closing.abort()
      if (picture) URL.revokeObjectURL(picture.shown)
      unwatch()
    },
    build: (close) => {
      fields.get('full_name').input.addEventListener('input', drawPreview)
      drawAvatars()
      drawCooldown()
      const byPath = (paths) => h('div', { class: 'field-grid' }, paths.map((path) => fields.get(path).element))
      const own = h('div', { class: 'own-picture', hidden: !app.pictures.isOffered },
        h('button', { class: 'button', type: 'button', onclick: () => chooser.click() }, 'Choose a picture…'),
        h('p', { class: 'field-hint' }, 'or drop one here; it is cropped to a square'), chooser)
      const made = form({
        fields: [...fields.values()],
        action: 'Save',
        children: [banner, preview, picker, own, pictureProblem, bar,
          sections.map(([title, paths]) => h('section', {}, h('h3', {}, title), byPath(paths))),
          h('section', { hidden: !client.has('presence') }, h('h3', {}, 'Being online'), h('div', { class: 'switch' },
            hides,
            h('label', { for: 'hides-presence' }, 'Hide when I am online'),
            h('p', { class: 'field-hint', id: 'hides-presence-hint' },
              'Nobody sees whether you are online or when you last were, and you do not see it of anybody.')))],
        secondary: h('button', { class: 'button', type: 'button', onclick: () => dismiss() }, 'Cancel'),
        submit: () => save(close),
      })
      // The screen is a view like any other: a change that arrives is in it at once.
      unwatch = directory.watch(() => { if (client.me) rebase(client.me) })
      return [base.is_guest && guestNote(app, close), made.element]
    },
  })
  dropZone(element, { isOpen: () => app.pictures.isOffered, take: ([file]) => choose(file) })
}

function guestNote(app, close) {
  return h('div', { class: 'callout' },
    h('p', {}, h('strong', {}, 'You are a guest.'),
      ' Once this tab is closed, nobody can sign in to this account again.'),
    h('button', {
      class: 'button', type: 'button',
      onclick: () => {
        close()
        upgrade(app)
      },
    }, 'Turn into an account…'))
}
