// The console: who is signed in, what is open, and which views show it.

import { Drafts } from './drafts.js'
import { catchStrays } from './drop.js'
import { Lines } from './lines.js'
import { Link } from './link.js'
import { announce, toast } from './notice.js'
import { Outbox } from './outbox.js'
import { learned } from './picture-place.js'
import { Pictures } from './pictures.js'
import { Session } from './session.js'
import { Shell } from './shell.js'
import { signInView } from './signin-view.js'
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
const root = document.getElementById('app')

let shell = null
let notice = null
let isScheduled = false
let unmuting

const app = {
  session, store, outbox, drafts, lines, link, typing, pictures,
  people: [],
  /// What is on its way in a conversation, in the order in which it was written.
  pending(conversationID) {
    const all = [...outbox.of(conversationID), ...uploads.of(conversationID)]
    return all.sort((a, b) => (a.writtenAt < b.writtenAt ? -1 : a.writtenAt > b.writtenAt ? 1 : 0))
  },
  get openID() { return location.hash.slice(1) || null },
  open(id) { location.hash = id ?? '' },
  /// Opens the direct conversation with somebody, which is made if there was none.
  async openWith(userID) {
    const conversation = await link.call('conversations.open', { user_id: userID, profiles: true })
    store.applyConversation(conversation)
    app.open(conversation.id)
  },
}

const uploads = new Uploads(app)
app.uploads = uploads

/// Draws once for however much has changed.
function schedule() {
  if (isScheduled) return
  isScheduled = true
  // A page that is not seen gets no frames, but its title tells of what came.
  if (document.visibilityState === 'visible') requestAnimationFrame(render)
  else setTimeout(render, 100)
}

function render() {
  isScheduled = false
  if (!session.isSignedIn) {
    if (shell || !root.childElementCount) {
      shell = null
      document.querySelectorAll('dialog').forEach((dialog) => dialog.close())
      root.replaceChildren(signInView({ link, people: app.people, notice }))
      root.querySelector('input, .person-button')?.focus()
    }
    document.title = 'Postline'
    return
  }
  if (!shell) {
    outbox.keepOnly(session.userID)
    drafts.belongTo(session.userID)
    uploads.restore(session.userID)
    shell = new Shell(app)
    root.replaceChildren(shell.element)
  }
  shell.render()
  const unread = [...store.conversations.values()].filter((each) => !store.mutedUntil(each))
    .reduce((sum, each) => sum + store.unread(each), 0)
  document.title = unread ? `(${unread}) Postline` : 'Postline'
  clearTimeout(unmuting)
  const { nextUnmute } = store
  if (nextUnmute) unmuting = setTimeout(schedule, Math.min(nextUnmute - Date.now(), 3_600_000))
}

store.watch(schedule)
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
  schedule()
}
link.onEnded = (message) => {
  drafts.clear()
  uploads.clear()
  pictures.clear()
  notice = message
  app.open(null)
  schedule()
}
store.onNews = (message) => {
  if (message.sender_id === session.userID) return
  if (store.mutedUntil(store.conversations.get(message.conversation_id))) return
  announce(`${store.name(message.sender_id)}: ${message.content || 'A picture'}`)
}
store.onLeft = (title) => {
  toast(`You are no longer in “${title}”.`)
  if (app.openID && !store.conversations.has(app.openID)) app.open(null)
}
addEventListener('hashchange', () => {
  shell?.opened()
  schedule()
})

async function start() {
  catchStrays()
  learned.then(schedule)
  if (session.isSignedIn) link.run()
  try {
    app.people = (await (await fetch('/console/config.json')).json()).people ?? []
  } catch {
    // Without it nobody of the dev world is offered.
  }
  render()
}

start()
