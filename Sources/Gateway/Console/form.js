// Forms whose errors stand beside the field they belong to.

import { h } from './dom.js'
import { sentence } from './errors.js'

let next = 1

/// A labelled field. `name` is the protocol's own word, by which errors find it.
export function field({ name, label, hint, optional, options, multiline, ...props }) {
  const id = `field-${next++}`
  const described = [hint && `${id}-hint`, `${id}-error`].filter(Boolean).join(' ')
  const shared = { id, name, 'aria-describedby': described, ...props }
  let input
  if (options) {
    input = h('select', shared, options.map(([value, text]) => h('option', { value }, text)))
    if (props.value !== undefined) input.value = props.value
  } else {
    input = h(multiline ? 'textarea' : 'input', shared)
  }
  const error = h('p', { class: 'field-error', id: `${id}-error`, hidden: true })
  const element = h('div', { class: 'field' },
    h('label', { for: id }, label, optional && h('span', { class: 'optional' }, ' optional')),
    input,
    hint && h('p', { class: 'field-hint', id: `${id}-hint` }, hint),
    error)
  const made = {
    element, input, name, label,
    get value() { return input.value },
    set error(text) {
      error.textContent = text ?? ''
      error.hidden = !text
      input.toggleAttribute('aria-invalid', Boolean(text))
    },
  }
  input.addEventListener('input', () => { made.error = null })
  return made
}

/// A form of fields and other children. An error that `submit` throws is shown at its field or above the buttons.
export function form({ fields, children, action, submit, secondary, isDangerous }) {
  const error = h('p', { class: 'form-error', role: 'alert', hidden: true })
  const button = h('button', { class: `button ${isDangerous ? 'danger' : 'primary'}`, type: 'submit' }, action)
  const element = h('form', { class: 'form', noValidate: true },
    children ?? fields.map((each) => each.element), error, h('div', { class: 'form-actions' }, secondary, button))

  const show = (problem) => {
    const owner = fields.find((each) => each.name === problem.field)
    const text = sentence(problem, owner?.label)
    if (owner) {
      owner.error = text
      owner.input.focus()
    } else {
      error.textContent = text
      error.hidden = false
    }
  }

  // What was wrong with the whole is mended by whatever is done next.
  for (const kind of ['input', 'click']) {
    element.addEventListener(kind, (event) => {
      if (!button.contains(event.target)) error.hidden = true
    })
  }

  element.addEventListener('submit', async (event) => {
    event.preventDefault()
    if (button.disabled) return
    for (const each of fields) each.error = null
    error.hidden = true
    button.disabled = true
    button.setAttribute('aria-busy', 'true')
    try {
      await submit()
    } catch (problem) {
      show(problem)
    } finally {
      button.disabled = false
      button.removeAttribute('aria-busy')
    }
  })
  return { element, button, show }
}

/// Something that is wrong with what was entered, found before the server is asked.
export class FieldProblem extends Error {
  constructor(fieldName, message) {
    super(message)
    this.field = fieldName
  }
}

/// Throws where a field that is needed is empty; all that are say so.
export function need(fields) {
  const missing = fields.filter((each) => !each.value.trim())
  for (const each of missing) each.error = `${each.label} is missing.`
  if (missing.length) throw new FieldProblem(missing[0].name, `${missing[0].label} is missing.`)
}
