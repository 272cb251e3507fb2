// The console: connects the session, the store and the connection, and draws the page for their state.

import { confirmAddress } from './account-view.js'
import { DemoConversation } from './demo.js'
import { Drafts } from './drafts.js'
import { catchStrays } from './drop.js'
import { showUnread } from './favicon.js'
import { eventText } from './group-event.js'
import { Lines } from './lines.js'
import { Link } from './link.js'
import { mailedToken } from './mail-forms.js'
import { announce, toast } from './notice.js'
import { notify } from './notifications.js'
import { Outbox } from './outbox.js'
import { learned } from './picture-place.js'
import { Pictures } from './pictures.js'
import { Session } from './session.js'
import { Shell } from './shell.js'
import { SignInView } from './signin-view.js'
import { Start } from './start.js'
import { Store } from './store.js'
import { TypingSignal } from './typing-signal.js'
import { Uploads } from './uploads.js'

const session = new Session()
const store = new Store()
const outbox = new Outbox()
const drafts = new Drafts()
const lines = new Lines()
const link = new Link(session, store, outbox, lines)
const typing = new TypingSignal(link)
const pictures = new Pictures(link)
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

const app = {
  session, store, outbox, drafts, lines, link, typing, pictures, start,
  /// Returns the messages and uploads in flight in a conversation, in the order in which they were written.
  pending(conversationID) {
    const all = [...outbox.of(conversationID), ...uploads.of(conversationID)]
    return all.sort((a, b) => (a.writtenAt < b.writtenAt ? -1 : a.writtenAt > b.writtenAt ? 1 : 0))
  },
  get openID() { return location.hash.slice(1) || null },
  open(id) { location.hash = id ?? '' },
  /// Opens the direct conversation with a user, which is created if there is none.
  async openWith(userID) {
    const conversation = await link.call('conversations.open', { user_id: userID, profiles: true })
    store.applyConversation(conversation)
    app.open(conversation.id)
  },
}

const uploads = new Uploads(app)
app.uploads = uploads
app.demo = new DemoConversation(app)

/// Draws once for any number of changes.
function schedule() {
  if (isScheduled) return
  isScheduled = true
  // A hidden page gets no frames, but its title and icon have the number of unread messages.
  if (document.visibilityState === 'visible') requestAnimationFrame(render)
  else setTimeout(render, 100)
}

function render() {
  isScheduled = false
  root.dataset.state = start.state
  if (session.isSignedIn) renderShell()
  else renderSignIn()
}

function renderSignIn() {
  if (!signIn || mailed) {
    shell = null
    document.querySelectorAll('dialog').forEach((dialog) => dialog.close())
    signIn = new SignInView(app, { mailed, note })
    mailed = null
    root.replaceChildren(signIn.element)
  }
  signIn.render()
  showCount(0)
}

function renderShell() {
  if (!shell) {
    signIn = null
    outbox.keepOnly(session.userID)
    drafts.belongTo(session.userID)
    uploads.restore(session.userID)
    shell = new Shell(app)
    root.replaceChildren(shell.element)
  }
  shell.render()
  showCount([...store.conversations.values()].filter((each) => !store.mutedUntil(each))
    .reduce((sum, each) => sum + store.unread(each), 0))
  app.demo.update()
  takeMailed()
  clearTimeout(unmuting)
  const { nextUnmute } = store
  if (nextUnmute) unmuting = setTimeout(schedule, Math.min(nextUnmute - Date.now(), 3_600_000))
}

function showCount(unread) {
  document.title = unread ? `(${unread}) Postline` : 'Postline'
  showUnread(unread)
}

/// Opens the dialog of a mailed link for a user who is signed in.
function takeMailed() {
  if (!mailed || !link.isOnline) return
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

/// Passes the state of the session, the connection and the store to the start-up, which draws the page.
function observe() {
  start.receive({
    hasSession: session.isSignedIn, link: link.state.name, isLoaded: store.isLoaded, features: link.hello?.features,
  })
}

start.onChange = schedule
store.watch(observe)
uploads.onChange = schedule
outbox.onChange = () => {
  link.deliver()
  schedule()
}
link.onState = () => {
  if (link.isOnline) {
    pictures.resume()
    uploads.resume()
  }
  if (link.isOnline && store.isLoaded && app.openID && !store.conversations.has(app.openID)) app.open(null)
  observe()
}
link.onEnded = (message) => {
  drafts.clear()
  uploads.clear()
  pictures.clear()
  note = message
  app.open(null)
  observe()
}
store.onNews = (message) => {
  if (message.sender_id === session.userID) return
  const conversation = store.conversations.get(message.conversation_id)
  if (store.mutedUntil(conversation)) return
  if (message.event) return announce(eventText(store, message))
  const sender = store.name(message.sender_id)
  const text = message.content || 'A picture'
  announce(`${sender}: ${text}`)
  notify({
    title: conversation.kind === 'group' ? `${sender} in ${store.title(conversation)}` : sender,
    text, conversationID: conversation.id, open: () => app.open(conversation.id),
  })
}
store.onLeft = (title) => {
  toast(`You are no longer in “${title}”.`)
  if (app.openID && !store.conversations.has(app.openID)) app.open(null)
}
addEventListener('hashchange', () => {
  readAddress()
  schedule()
})

catchStrays()
readAddress()
learned.then(() => start.receive({}))
start.load()
observe()
if (session.isSignedIn) link.run()
