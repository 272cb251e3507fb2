// The page of moderators: the reports of users, their evidence, and what is done about them; and the messages that the
// filter holds.

import { confirm, openDialog } from './dialog.js'
import { h } from './dom.js'
import { sentence } from './errors.js'
import { field, form } from './form.js'
import { toast } from './notice.js'
import { reasons } from './report-dialog.js'
import { clock, date } from './time.js'

const states = { '': 'Not closed', open: 'Open', in_review: 'In review', closed: 'Closed' }
const outcomes = {
  dismissed: 'Dismissed: nothing is wrong', removed: 'The message was removed', warned: 'The user was warned',
  banned: 'The user was banned',
}
const terms = { '': 'For good', 1: 'For a day', 7: 'For a week', 30: 'For 30 days' }
const dayMilliseconds = 86_400_000

/// Opens the list of reports, and that of held messages.
export function openModeration(app) {
  const list = h('ul', { class: 'report-list' })
  const more = h('button', { class: 'button', type: 'button', hidden: true, onclick: () => load(next) }, 'Show more')
  const state = field({
    name: 'state', label: 'Show', options: Object.entries({ ...states, held: 'Held messages' }), onchange: () => load(),
  })
  let next = null

  async function load(after) {
    const isHeld = state.value === 'held'
    try {
      const page = isHeld ? await app.client.call('moderation.held', { ...after && { after } })
        : await app.client.call('reports.list', { ...state.value && { state: state.value }, ...after && { after } })
      // Another list was chosen meanwhile.
      if (isHeld !== (state.value === 'held')) return
      if (!after) list.replaceChildren()
      list.append(...isHeld ? page.held.map((held) => heldRow(app, held)) : page.reports.map((report) => row(report)))
      if (!list.childElementCount) {
        list.append(h('li', { class: 'empty' }, isHeld ? 'No message is held.' : 'There are no reports.'))
      }
      next = page.next
      more.hidden = !next
    } catch (error) {
      toast(sentence(error, null, 'Reports need a connection.'), 'bad')
    }
  }

  const row = (report) => h('li', {}, h('button', {
    class: 'report-row', type: 'button', 'data-report': report.id, onclick: () => openReportDetails(app, report, load),
  },
  h('span', { class: 'row-title' }, `${reasons[report.reason]}: ${personName(report.reported)}`),
  h('span', { class: 'row-preview' }, `${states[report.state]} · ${report.seq ? 'a message' : 'the user'} · ${
    age(report.age_seconds)}`)))

  openDialog({ title: 'Reports', kind: 'settings', build: () => [state.element, list, more] })
  load()
}

/// Returns the row of a held message, which goes once it is decided.
function heldRow(app, { message, words }) {
  const { conversation_id, seq } = message
  const decide = (method, done) => async () => {
    try {
      await app.client.call(method, { conversation_id, seq })
      toast(done)
      element.remove()
    } catch (error) {
      toast(sentence(error, null, 'That needs a connection.'), 'bad')
      // Another moderator, or the sender, was faster.
      if (error.code === 'not_found') element.remove()
    }
  }
  const element = h('li', { class: 'held-row' },
    h('span', { class: 'row-title' }, `${personName(message.sender)}: ${words.join(', ')}`),
    h('span', { class: 'row-preview' }, `${date(message.created_at)}, ${clock(message.created_at)}`),
    h('span', { class: 'text', dir: 'auto' }, message.content || `(${message.kind})`),
    h('div', { class: 'form-actions' },
      h('button', {
        class: 'button', type: 'button', onclick: decide('moderation.reject', 'The message is deleted.'),
      }, 'Reject'),
      h('button', {
        class: 'button primary', type: 'button', onclick: decide('moderation.release', 'All members see the message.'),
      }, 'Release')))
  return element
}

/// Opens a report with its evidence. `onChange` is called after each step.
async function openReportDetails(app, { id }, onChange) {
  const content = h('div', { class: 'report' })
  const draw = (report) => content.replaceChildren(...details(report))
  const attempt = async (work, done) => {
    try {
      await work()
      if (done) toast(done)
      draw(await app.client.call('reports.get', { id }))
      onChange()
    } catch (error) {
      toast(sentence(error, null, 'That needs a connection.'), 'bad')
    }
  }
  const button = (label, onclick) => h('button', { class: 'button', type: 'button', onclick }, label)

  const details = (report) => {
    const { evidence, reported } = report
    const messages = [...evidence?.before ?? [], evidence?.message].filter(Boolean)
    const facts = [
      ['State', states[report.state]], ['Reason', reasons[report.reason]], ['Comment', report.comment],
      ['Reported', personName(reported)], ['By', personName(report.reporter)], ['Age', age(report.age_seconds)],
      ['Outcome', outcomes[report.outcome]], ['Note', report.resolution],
    ].filter(([, value]) => value)
    return [
      h('dl', { class: 'facts' }, facts.map(([name, value]) => [h('dt', {}, name), h('dd', { dir: 'auto' }, value)])),
      evidence ? [
        h('h3', {}, messages.length ? 'What was written' : 'The profile'),
        messages.length ? h('ol', { class: 'evidence' }, messages.map((message) => h('li', {
          class: message === evidence.message ? 'reported' : '',
        },
        h('span', { class: 'row-preview' }, `${personName(message.sender)}, ${date(message.created_at)}, ${
          clock(message.created_at)}`),
        h('span', { class: 'text', dir: 'auto' }, message.content || `(${message.kind})`))))
          : h('p', { dir: 'auto' }, [evidence.reported?.full_name, evidence.reported?.bio].filter(Boolean).join(': ')),
      ] : h('p', {}, 'The evidence was deleted.'),
      h('div', { class: 'form-actions' },
        report.state === 'open' && button('Take into review', () => attempt(
          () => app.client.call('reports.assign', { id }))),
        report.seq && button('Remove the message…', async () => {
          if (!await confirm({
            title: 'Remove the message?', text: 'Its content is gone for all members.', action: 'Remove',
          })) return
          const { conversation_id, seq } = report
          attempt(
            () => app.client.call('moderation.remove_message', { conversation_id, seq }), 'The message is removed.')
        }),
        button('Ban the user…', () => askForBan(reported, (params) => attempt(
          () => app.client.call('moderation.ban_user', { user_id: report.reported_id, ...params }),
          `${personName(reported)} is banned.`))),
        button('Lift the ban', () => attempt(
          () => app.client.call('moderation.unban_user', { user_id: report.reported_id }),
          `${personName(reported)} may sign in.`)),
        report.state !== 'closed' && h('button', {
          class: 'button primary', type: 'button', onclick: () => askForOutcome((params) => attempt(
            () => app.client.call('reports.resolve', { id, ...params }), 'The report is closed.')),
        }, 'Close…')),
    ].flat()
  }

  openDialog({ title: 'Report', kind: 'settings', build: () => content })
  try {
    draw(await app.client.call('reports.get', { id }))
  } catch (error) {
    content.replaceChildren(h('p', { class: 'form-error', role: 'alert' }, sentence(error)))
  }
}

function askForBan(user, onBan) {
  const term = field({ name: 'until', label: 'How long?', options: Object.entries(terms) })
  openDialog({
    title: `Ban ${personName(user)}`,
    kind: 'small',
    build: (close) => [
      h('p', {}, 'The user’s sessions end, and nobody can sign in to the account until then. Its messages stay.'),
      form({
        fields: [term],
        action: 'Ban',
        isDangerous: true,
        submit: () => {
          close()
          const days = Number(term.value)
          onBan(days ? { until: new Date(Date.now() + days * dayMilliseconds).toISOString() } : {})
        },
      }).element,
    ],
  })
}

function askForOutcome(onOutcome) {
  const outcome = field({ name: 'outcome', label: 'What was done?', options: Object.entries(outcomes) })
  const comment = field({
    name: 'comment', label: 'Note for moderators', optional: true, multiline: true, maxLength: 1000,
  })
  openDialog({
    title: 'Close the report',
    kind: 'small',
    build: (close) => form({
      fields: [outcome, comment],
      action: 'Close the report',
      submit: () => {
        close()
        onOutcome({ outcome: outcome.value, ...comment.value.trim() && { comment: comment.value.trim() } })
      },
    }).element,
  })
}

function personName(person) { return person?.full_name ?? (person?.username ? `@${person.username}` : 'Deleted user') }

/// `3 h`: an age in its largest unit.
function age(seconds) {
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`
  return seconds < 172_800 ? `${Math.floor(seconds / 3600)} h` : `${Math.floor(seconds / 86_400)} days`
}
