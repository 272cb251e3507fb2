// Everything that this user may see and this page was told, kept true by Changes.
//
// Applying one Changes twice, or after a newer one, changes nothing (docs/protocol.md, section 3). Each object is here
// once, by its id, and every view draws from here: so a name changes everywhere at once.

import { Typists } from './typists.js'

export class Store {
  me = null
  people = new Map()
  conversations = new Map()
  /// The newest messages of each conversation, ascending by `seq`; what stands before them is to be fetched.
  messages = new Map()
  /// The presence of others, by user.
  presence = new Map()
  /// True while changes arrive. Otherwise no one can be shown as online.
  isLive = false
  /// The built-in avatars by id.
  avatars = new Map()
  /// True once the first Changes is complete.
  isLoaded = false
  #watchers = new Set()
  #typists = new Typists(() => this.changed())
  #hasLostMembers = false
  /// Called with each message that is news, so that it can be announced.
  onNews = () => {}
  /// Called with the title of a conversation that the user was taken out of.
  onLeft = () => {}

  /// Calls `watcher` after each change. Returns what ends that.
  watch(watcher) {
    this.#watchers.add(watcher)
    return () => this.#watchers.delete(watcher)
  }

  changed() {
    for (const watcher of this.#watchers) watcher()
  }

  clear() {
    this.me = null
    this.people.clear()
    this.conversations.clear()
    this.messages.clear()
    this.presence.clear()
    this.#typists.clear()
    this.isLoaded = false
    this.changed()
  }

  /// Takes in what `sync.open` answers and a `changes` pushes.
  apply(changes) {
    const isFirst = !this.isLoaded || changes.reset
    if (changes.reset) this.clear()
    if (changes.me) this.takeMe(changes.me)
    // `left` before `conversations`: who was put out and taken in again is in.
    for (const id of changes.left ?? []) this.#leave(id)
    for (const profile of changes.profiles ?? []) this.takePerson(profile)
    for (const conversation of changes.conversations ?? []) this.takeConversation(conversation)
    for (const presence of changes.presence ?? []) this.presence.set(presence.user_id, presence)
    const news = []
    for (const message of changes.messages ?? []) if (this.takeMessage(message)) news.push(message)
    for (const read of changes.reads ?? []) this.takeRead(read)
    for (const id of changes.limited ?? []) this.#closeGap(id)
    if (!changes.more) {
      this.isLoaded = true
      this.#pruneUnreferenced()
    }
    if (!isFirst) for (const message of news) this.onNews(message)
    this.changed()
  }

  /// Takes in a conversation that was answered, with the people in it.
  applyConversation({ profiles, ...conversation }) {
    for (const profile of profiles ?? []) this.takePerson(profile)
    this.takeConversation(conversation)
    if (this.isLoaded) this.#pruneUnreferenced()
    this.changed()
  }

  /// Takes in messages that were answered.
  applyMessages(messages) {
    for (const message of messages) this.takeMessage(message)
    this.changed()
  }

  takeMe(me) {
    if (this.me?.id === me.id && this.me.version > me.version) return
    this.me = me
    this.takePerson(me)
  }

  takePerson(person) {
    const held = this.people.get(person.id)
    if (held && held.version > person.version) return
    this.people.set(person.id, person)
    this.changed()
  }

  takeConversation(conversation) {
    const held = this.conversations.get(conversation.id)
    this.#hasLostMembers ||= held?.version < conversation.version
    this.conversations.set(conversation.id, held ? merged(held, conversation) : conversation)
    if (!this.messages.has(conversation.id)) this.messages.set(conversation.id, [])
  }

  /// Returns whether it is new here and the newest of its conversation.
  takeMessage(message) {
    const conversation = this.conversations.get(message.conversation_id)
    // A message of a conversation that the user is not in is one that came late.
    if (!conversation) return false
    const sender = message.sender
    const known = sender && this.people.get(sender.id)
    // A sender has a part of a Profile, which says all that it says.
    if (sender && (!known || known.version < sender.version)) this.takePerson({ ...known, ...sender })

    const held = this.messages.get(message.conversation_id)
    let at = held.length
    while (at > 0 && held[at - 1].seq >= message.seq) at -= 1
    const isHeld = held[at]?.seq === message.seq
    if (isHeld && held[at].version >= message.version) return false
    held.splice(at, isHeld ? 1 : 0, message)

    const isNews = message.seq > conversation.last_seq
    if (isNews) this.#typists.end(conversation.id, message.sender_id)
    if (message.seq >= conversation.last_seq) {
      conversation.last_seq = message.seq
      conversation.last_message_content = message.deleted_at ? null : message.content
      conversation.last_message_time = message.created_at
      conversation.last_message_sender_id = message.sender_id
    }
    // Sending moves the sender's own mark.
    this.takeRead({
      conversation_id: conversation.id, user_id: message.sender_id, last_read_seq: message.seq,
    })
    return isNews && !isHeld
  }

  takeRead(read) {
    const conversation = this.conversations.get(read.conversation_id)
    if (!conversation) return
    for (const member of conversation.members) {
      if (member.user_id === read.user_id) member.last_read_seq = Math.max(member.last_read_seq, read.last_read_seq)
    }
    if (read.user_id === this.me?.id) {
      conversation.last_read_seq = Math.max(conversation.last_read_seq, read.last_read_seq)
    }
  }

  takeAvatars(avatars) {
    this.avatars = new Map(avatars.map((avatar) => [avatar.id, avatar]))
    this.changed()
  }

  #leave(id) {
    const conversation = this.conversations.get(id)
    if (!conversation) return
    const title = this.title(conversation)
    this.conversations.delete(id)
    this.messages.delete(id)
    this.#hasLostMembers = true
    this.onLeft(title)
  }

  /// With the last conversation shared with somebody, what is known of that user's presence goes too: nothing is told
  /// of it any more.
  #pruneUnreferenced() {
    if (!this.#hasLostMembers) return
    this.#hasLostMembers = false
    const shared = new Set()
    for (const { members } of this.conversations.values()) for (const member of members) shared.add(member.user_id)
    for (const id of this.presence.keys()) if (!shared.has(id)) this.presence.delete(id)
  }

  /// Sets whether a connection delivers changes. Without one, no one is shown as online or typing.
  setLive(isLive) {
    if (this.isLive === isLive) return
    this.isLive = isLive
    if (!isLive) this.#typists.clear()
    this.changed()
  }

  takeTyping(typing) { this.#typists.take(typing) }

  /// The ids of those who type there.
  typists(conversation) {
    return this.#typists.of(conversation.id)
      .filter((id) => conversation.members.some((member) => member.user_id === id))
  }

  /// True if the user hides its own presence, and so sees no one's.
  get hidesPresence() { return this.me?.preferences?.presence === 'nobody' }

  isOnline(userID) {
    return this.isLive && !this.hidesPresence && this.presence.get(userID)?.is_online === true
  }

  /// When somebody who is not online was last; null where that is not known.
  lastSeen(userID) {
    const presence = this.presence.get(userID)
    return !presence || presence.is_online || this.hidesPresence ? null : presence.last_seen_at
  }

  /// Until when the conversation is muted; null where it is not.
  mutedUntil(conversation) {
    const until = conversation.muted_until && new Date(conversation.muted_until)
    return until > new Date() ? until : null
  }

  /// When the next conversation ceases to be muted.
  get nextUnmute() {
    const times = [...this.conversations.values()].map((each) => this.mutedUntil(each)).filter(Boolean)
    return times.length ? Math.min(...times) : null
  }

  /// A limited Changes has only the newest messages: those before the gap are dropped, to be fetched again.
  #closeGap(id) {
    const held = this.messages.get(id)
    if (!held?.length) return
    let start = held.length - 1
    while (start > 0 && held[start - 1].seq === held[start].seq - 1) start -= 1
    held.splice(0, start)
  }

  name(userID) {
    const person = this.people.get(userID)
    if (person?.full_name) return person.full_name
    if (person?.username) return person.username
    if (person?.is_deleted) return 'Deleted user'
    return person?.is_guest ? 'Guest' : 'Somebody'
  }

  /// The other one of a direct conversation.
  other(conversation) {
    if (conversation.kind !== 'direct') return undefined
    return conversation.members.find((member) => member.user_id !== this.me?.id)?.user_id
      ?? [conversation.participant1_id, conversation.participant2_id].find((id) => id !== this.me?.id)
  }

  title(conversation) {
    return conversation.kind === 'direct' ? this.name(this.other(conversation)) : conversation.title ?? 'Group'
  }

  /// The messages after the user's own mark; numbers have no gap.
  unread(conversation) { return Math.max(0, conversation.last_seq - conversation.last_read_seq) }

  role(conversation, userID = this.me?.id) {
    return conversation.members.find((member) => member.user_id === userID)?.role
  }

  /// Returns true if every other member's read mark has reached the message.
  isReadByAll(message) {
    const others = this.conversations.get(message.conversation_id)?.members
      .filter((member) => member.user_id !== message.sender_id) ?? []
    return others.length > 0 && others.every((member) => member.last_read_seq >= message.seq)
  }

  /// The conversations, the one with the newest message first.
  ordered() {
    const activity = (conversation) => conversation.last_message_time ?? conversation.created_at
    return [...this.conversations.values()].sort((a, b) => {
      return activity(b) < activity(a) ? -1 : activity(b) > activity(a) ? 1 : a.id < b.id ? -1 : 1
    })
  }
}

/// The two states as one: the metadata of the greater version, `last_*` of the greater `last_seq`, and the greater of
/// each mark.
function merged(held, newer) {
  const [kept, other] = held.version > newer.version ? [held, newer] : [newer, held]
  const result = { ...kept, members: kept.members.map((member) => ({ ...member })) }
  if (other.last_seq > kept.last_seq) {
    for (const name of ['last_seq', 'last_message_content', 'last_message_time', 'last_message_sender_id']) {
      result[name] = other[name]
    }
  }
  result.last_read_seq = Math.max(kept.last_read_seq, other.last_read_seq)
  for (const member of result.members) {
    const mark = other.members.find((each) => each.user_id === member.user_id)?.last_read_seq ?? 0
    member.last_read_seq = Math.max(member.last_read_seq, mark)
  }
  return result
}
