// The console: a client, and the page for its state.

import { confirmAddress } from './account-view.js'
import { indexedDBStorage, PostlineClient } from './client/index.js'
import { DemoConversation } from './demo.js'
import { Directory } from './directory.js'
import { catchStrays } from './drop.js'
import { sentence } from './errors.js'
import { showUnread } from './favicon.js'
import { eventText } from './group-event.js'
import { Lines } from './lines.js'
import { mailedToken } from './mail-forms.js'
import { announce, toast } from './notice.js'
import { notify } from './notifications.js'
import { learned, place } from './picture-place.js'
import { Pictures } from './pictures.js'
import { afterPress } from './press.js'
import { quotedText } from './reply-quote.js'
import { Shell } from './shell.js'
import { SignInView } from './signin-view.js'
import { Start } from './start.js'

const lines = new Lines()
const client = new PostlineClient({
  url: '/',
  // Two tabs can be two users.
  storage: indexedDBStorage('postline', { perTab: true }),
  eraseOnSessionEnd: true,
  onLine: (...all) => lines.take(...all),
  mediaURL: async (url) => {
    await learned
    return place(url)
  },
})
const directory = new Directory(client)
const pictures = new Pictures(client)
const start = new Start()
const root = document.getElementById('app')

let shell = null
let signIn = null
/// Why the last session ended, for the sign-in page.
let note = null
/// The token of a mailed link, until a page has taken it.
let mailed = null
let isScheduled = false
let unmuting
/// What the client had at its last notification.
let former = { state: client.state, account: null, conversations: [], refusedChanges: [] }

const app = {
  client, directory, lines, pictures, start, schedule,
  get openID() { return location.hash.slice(1) || null },
  open(id) { location.hash = id ?? '' },
  /// The message to show once its conversation is drawn: `{ id, seq }`, or null.
  place: null,
  /// Opens a conversation at a message.
  show(id, seq) {
    app.place = { id, seq }
    app.open(id)
    schedule()
  },
  /// Opens the direct conversation with a user, which is created if there is none.
  async openWith(userID) { app.open(await client.openConversation(userID)) },
  async deleteAccount(params) {
    await client.deleteAccount(params)
    note = 'Your account has been deleted.'
    schedule()
  },
}
app.demo = new DemoConversation(app)

/// Draws once for any number of changes.
function schedule() {
  if (isScheduled) return
  isScheduled = true
  // A hidden page gets no frames, but its title and icon have the number of unread messages.
  if (document.visibilityState === 'visible') requestAnimationFrame(() => afterPress(render))
  else setTimeout(render, 100)
}

function render() {
  isScheduled = false
  root.dataset.state = start.state
  if (client.account) renderShell()
  else if (client.state.name === 'signed_out') renderSignIn()
}

function renderSignIn() {
  if (!signIn || mailed) {
    shell = null
    document.querySelectorAll('dialog').forEach((dialog) => dialog.close())
    signIn = new SignInView(app, { mailed })
    mailed = null
    root.replaceChildren(signIn.element)
  }
  signIn.render(note)
  note = null
  showCount(0)
}

function renderShell() {
  if (!shell) {
    signIn = null
    shell = new Shell(app)
    root.replaceChildren(shell.element)
  }
  shell.render()
  showCount(client.conversations.reduce((sum, each) => {
    const { unread_count: unread, unread_mentions: mentions, is_marked_unread: isMarked } = each
    return sum + (directory.mutedUntil(each) ? mentions : unread || Number(isMarked))
  }, 0))
  app.demo.update()
  takeMailed()
  clearTimeout(unmuting)
  const { nextUnmute } = directory
  if (nextUnmute) unmuting = setTimeout(schedule, Math.min(nextUnmute - Date.now(), 3_600_000))
}

function showCount(unread) {
  document.title = unread ? `(${unread}) Postline` : 'Postline'
  showUnread(unread)
}

/// Opens the dialog of a mailed link for a user who is signed in.
function takeMailed() {
  if (!mailed || client.state.name !== 'live') return
  const { kind, token } = mailed
  mailed = null
  if (kind === 'reset_password') toast('To set a new password by mail, sign out first or open the link in a new tab.')
  else confirmAddress(app, token)
}

/// Reads the token of a mailed link, and removes it from the address so that it does not stay in the history.
function readAddress() {
  mailed = mailedToken(location.hash) ?? mailed
  if (mailedToken(location.hash)) history.replaceState(null, '', location.pathname + location.search)
}

/// Acts on what has changed in the client, and passes its state to the start-up, which draws the page.
function observe() {
  const { state, account, conversations, refusedChanges, me, hello } = client
  if (former.account && !account) leaveAccount()
  if (me && former.conversations !== conversations) reportLost(former.conversations)
  if (former.refusedChanges !== refusedChanges) reportRefused(refusedChanges)
  if (former.state.name !== state.name) {
    if (state.name === 'offline' && state.error) lines.note(state.error.message)
    if (state.name === 'live') becomeLive()
    if (state.name === 'signed_out' && state.error) note = 'Your session is over. Sign in again to go on.'
  }
  former = { state, account, conversations, refusedChanges }
  start.receive({ connection: state.name, isLoaded: me !== null, features: hello?.features })
}

function leaveAccount() {
  directory.clear()
  pictures.clear()
  app.open(null)
}

function reportLost(conversations) {
  for (const each of conversations) {
    if (client.conversation(each.id)) continue
    toast(`You are no longer in “${directory.title(each)}”.`)
    if (each.id === app.openID) app.open(null)
  }
}

function reportRefused(changes) {
  for (const { change, method, content, kind, error } of changes) {
    if (former.refusedChanges.some((each) => each.change === change)) continue
    if (['messages.react', 'messages.pin', 'conversations.set'].includes(method)) {
      // What is shown is what the server has again.
      toast(sentence(error), 'bad')
      client.discard(change).catch(() => {})
    }
    if (method !== 'messages.send') continue
    announce(`Not sent: ${quotedText({ kind, content })}. ${sentence(error, 'The message')}`)
  }
}

function becomeLive() {
  pictures.resume()
  if (app.openID && !client.conversation(app.openID)) app.open(null)
  // Without the catalogue, avatars are initials.
  client.call('avatars.list').then(({ avatars }) => directory.takeAvatars(avatars), () => {})
}

start.onChange = schedule
directory.watch(observe)
client.onMessage((message) => {
  const conversation = client.conversation(message.conversation_id)
  if (message.sender_id === directory.userID || !conversation) return
  const isMention = message.mentions_everyone || message.mentions?.includes(directory.userID)
  if (directory.mutedUntil(conversation) && !isMention) return
  if (message.event) return announce(eventText(directory, message))
  const sender = directory.name(message.sender_id)
  const text = quotedText(message)
  announce(`${sender}: ${text}`)
  notify({
    title: conversation.kind === 'group' ? `${sender} in ${directory.title(conversation)}` : sender,
    text, conversationID: conversation.id, open: () => app.open(conversation.id),
  })
})
addEventListener('hashchange', () => {
  readAddress()
  schedule()
})

catchStrays()
readAddress()
learned.then(() => start.receive({}))
start.load()
observe()
