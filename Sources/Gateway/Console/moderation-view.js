// The page of moderators: the reports of users, their evidence, and what is done about them; and the messages that the
// filter holds.

import { attachmentViews, captionOf } from './attachments.js'
import { confirm, openDialog } from './dialog.js'
import { h } from './dom.js'
import { sentence } from './errors.js'
import { field, form } from './form.js'
import { toast } from './notice.js'
import { reasons } from './report-dialog.js'
import { full } from './time.js'

const states = { '': 'Not closed', open: 'Open', in_review: 'In review', closed: 'Closed' }
const outcomes = {
  dismissed: 'Dismissed: nothing is wrong', removed: 'The message was removed', warned: 'The user was warned',
  banned: 'The user was banned',
}
const terms = { '': 'For good', 1: 'For a day', 7: 'For a week', 30: 'For 30 days' }
const dayMilliseconds = 86_400_000
export const mostCounted = 10

/// Opens the list of reports, and that of held messages. `onClose` is called once it is closed.
export function openModeration(app, onClose) {
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
      const readable = await readableFiles(app, isHeld ? page.held.map(({ message }) => message) : [])
      // Another list was chosen meanwhile.
      if (isHeld !== (state.value === 'held')) return
      if (!after) list.replaceChildren()
      list.append(...isHeld ? page.held.map((held) => heldRow(app, held, readable, onDecided))
        : page.reports.map((report) => row(report)))
      if (!list.childElementCount) {
        list.append(h('li', { class: 'empty' }, isHeld ? 'No message is held.' : 'There are no reports.'))
      }
      next = page.next
      more.hidden = !next
    } catch (error) {
      toast(sentence(error, null, 'Reports need a connection.'), 'bad')
    }
  }

  // What was held since is shown too.
  const onDecided = () => { if (!list.childElementCount) load() }

  const row = (report) => h('li', {}, h('button', {
    class: 'report-row', type: 'button', 'data-report': report.id, onclick: () => openReportDetails(app, report, load),
  },
  h('span', { class: 'row-title' }, `${reasons[report.reason]}: ${personName(report.reported)}`),
  h('span', { class: 'row-preview' }, `${states[report.state]} · ${report.seq ? 'a message' : 'the user'} · ${
    age(report.age_seconds)}`)))

  openDialog({ title: 'Reports', kind: 'settings', onClose, build: () => [state.element, list, more] })
  load()
}

/// Returns the number of reports that are not closed and of held messages, but no more than `mostCounted`.
export async function countWaiting({ client }) {
  const [{ reports }, { held }] = await Promise.all(
    ['reports.list', 'moderation.held'].map((method) => client.call(method, { limit: mostCounted })))
  return Math.min(mostCounted, reports.length + held.length)
}

/// Returns those of the messages' files, by id, that the user may read and that are not gone.
async function readableFiles({ client }, messages) {
  const files = messages.flatMap(({ attachments }) => attachments ?? []).filter(({ media_id: id }) => id)
  const urls = await Promise.all(files.map((file) => client.fileURL(file).catch(() => null)))
  return new Set(files.filter((_, index) => urls[index]).map(({ media_id: id }) => id))
}

/// Returns what a message says: its text, and its files as its members see them. Of a file that is not `readable` there
/// is the name, or the kind.
function messageContent(app, message, readable) {
  const attachments = message.attachments ?? []
  const isShown = ({ media_id: id }) => !id || readable.has(id)
  const text = captionOf({ ...message, attachments })
  const shown = { ...message, attachments: attachments.filter(isShown), previews: [] }
  const views = attachmentViews(app, shown, `Picture by ${personName(message.sender)}`)
  // In a conversation the list is the tab stop.
  for (const each of views.flatMap((view) => [view, ...view.querySelectorAll('*')])) {
    if (each.matches('[tabindex]')) each.tabIndex = 0
  }
  const names = attachments.filter((each) => !isShown(each)).map(({ name }) => `(${name ?? message.kind})`)
  if (message.deleted_at) names.push('(deleted)')
  else if (!text && !attachments.length) names.push(`(${message.kind})`)
  return [views, [text, ...names].filter(Boolean).map((each) => h('span', { class: 'text', dir: 'auto' }, each))]
}

/// Returns the row of a held message, which goes once it is decided. Then `onDecided` is called.
function heldRow(app, { message, words }, readable, onDecided) {
  const { conversation_id, seq, sender, sender_id } = message
  const attempt = async (method, params, done) => {
    try {
      await app.client.call(method, params)
      toast(done)
      return true
    } catch (error) {
      toast(sentence(error, null, 'That needs a connection.'), 'bad')
      // Another moderator, or the sender, was faster.
      return error.code === 'not_found'
    }
  }
  const decide = (method, done) => async () => {
    if (!await attempt(method, { conversation_id, seq }, done)) return
    element.remove()
    onDecided()
  }
  const conversation = app.client.conversation(conversation_id)
  const place = !conversation ? ''
    : conversation.kind === 'group' ? ` in “${app.directory.title(conversation)}”` : ' to you'
  const element = h('li', { class: 'held-row' },
    h('span', { class: 'row-title' }, `${personName(sender)}${place}`),
    h('span', { class: 'row-preview' }, words.length ? `Held for: ${words.join(', ')}` : 'Held',
      ` · ${full(message.created_at)}`),
    messageContent(app, message, readable),
    h('div', { class: 'form-actions' },
      button('Ban…', () => askForBan(sender, (params) => attempt(
        'moderation.ban_user', { user_id: sender_id, ...params }, `${personName(sender)} is banned.`))),
      button('Reject', decide('moderation.reject', 'The message is deleted.')),
      button('Release', decide('moderation.release', 'All members see the message.'), 'primary')))
  return element
}

function button(label, onclick, kind = '') {
  return h('button', { class: `button ${kind}`, type: 'button', onclick }, label)
}

/// Opens a report with its evidence. `onChange` is called after each step.
async function openReportDetails(app, { id }, onChange) {
  const content = h('div', { class: 'report' })
  // What was done here: a report does not say whether its user is banned, or its message removed.
  let isRemoved = false
  let isUnbanned = false
  const draw = async (report) => {
    const readable = await readableFiles(app, evidenceMessages(report))
    content.replaceChildren(...details(report, readable))
  }
  const attempt = async (work, done) => {
    try {
      await work()
      if (done) toast(done)
      await draw(await app.client.call('reports.get', { id }))
      onChange()
    } catch (error) {
      toast(sentence(error, null, 'That needs a connection.'), 'bad')
    }
  }

  const details = (report, readable) => {
    const { evidence, reported } = report
    const messages = evidenceMessages(report)
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
        h('span', { class: 'row-preview' }, `${personName(message.sender)}, ${full(message.created_at)}`),
        messageContent(app, message, readable))))
          : h('p', { dir: 'auto' }, [evidence.reported?.full_name, evidence.reported?.bio].filter(Boolean).join(': ')),
      ] : h('p', {}, 'The evidence was deleted.'),
      h('div', { class: 'form-actions' },
        report.state === 'open' && button('Take into review', () => attempt(
          () => app.client.call('reports.assign', { id }))),
        report.seq && !isRemoved && report.outcome !== 'removed' && button('Remove the message…', async () => {
          if (!await confirm({
            title: 'Remove the message?', text: 'Its content is gone for all members.', action: 'Remove',
          })) return
          const { conversation_id, seq } = report
          attempt(async () => {
            await app.client.call('moderation.remove_message', { conversation_id, seq })
            isRemoved = true
          }, 'The message is removed.')
        }),
        button('Ban the user…', () => askForBan(reported, (params) => attempt(async () => {
          await app.client.call('moderation.ban_user', { user_id: report.reported_id, ...params })
          isUnbanned = false
        }, `${personName(reported)} is banned.`))),
        !isUnbanned && button('Lift the ban', () => attempt(async () => {
          await app.client.call('moderation.unban_user', { user_id: report.reported_id })
          isUnbanned = true
        }, `${personName(reported)} may sign in.`)),
        report.state !== 'closed' && button('Close…', () => askForOutcome((params) => attempt(
          () => app.client.call('reports.resolve', { id, ...params }), 'The report is closed.')), 'primary')),
    ].flat()
  }

  openDialog({ title: 'Report', kind: 'settings', build: () => content })
  try {
    await draw(await app.client.call('reports.get', { id }))
    // The reported message, which is the last.
    content.querySelector('.reported')?.scrollIntoView({ block: 'nearest' })
  } catch (error) {
    content.replaceChildren(h('p', { class: 'form-error', role: 'alert' }, sentence(error)))
  }
}

/// Returns the messages of a report, the reported one last.
function evidenceMessages({ evidence }) { return [...evidence?.before ?? [], evidence?.message].filter(Boolean) }

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
