// What the page shows of users and conversations beside their objects: names, titles, presence, roles and mutes.

import { displayName } from './client/index.js'

export class Directory {
  #client
  /// The profiles of users who share no conversation with the user, such as of a search.
  #others = new Map()
  #watchers = new Set()
  /// The built-in avatars by id.
  avatars = new Map()

  constructor(client) { this.#client = client }

  /// The signed-in user's id.
  get userID() { return this.#client.account?.id }

  /// Calls `watcher` after each change of what is shown. Returns a function that ends this.
  watch(watcher) {
    this.#watchers.add(watcher)
    const end = this.#client.subscribe(watcher)
    return () => {
      this.#watchers.delete(watcher)
      end()
    }
  }

  /// Takes profiles that the client does not keep.
  take(profiles) {
    for (const profile of profiles) {
      const held = this.person(profile.id)
      if (held && held.version >= profile.version && (held.created_at || !profile.created_at)) continue
      this.#others.set(profile.id, profile)
      this.#changed()
    }
  }

  takeAvatars(avatars) {
    this.avatars = new Map(avatars.map((avatar) => [avatar.id, avatar]))
    this.#changed()
  }

  clear() { this.#others.clear() }

  #changed() {
    for (const watcher of this.#watchers) watcher()
  }

  /// Returns a user's newest profile as far as known, or undefined.
  person(userID) {
    const kept = this.#client.profile(userID)
    const other = this.#others.get(userID)
    return kept && !(other?.version > kept.version) ? kept : other
  }

  /// The profiles of the users who share a conversation with the user.
  get contacts() {
    const users = this.#client.conversations.flatMap((conversation) => conversation.users)
    return [...new Map(users.map((person) => [person.id, person])).values()]
  }

  name(userID) {
    const person = this.person(userID)
    return displayName(person) || (person?.is_deleted ? 'Deleted user' : person?.is_guest ? 'Guest' : 'Somebody')
  }

  /// True if the user hides its own presence, and so sees no one's.
  get hidesPresence() { return this.#client.me?.preferences?.presence === 'nobody' }

  isOnline(userID) { return !this.hidesPresence && this.#client.presence(userID)?.is_online === true }

  /// Returns when a user who is not online was last seen, or null if that is not known.
  lastSeen(userID) {
    const presence = this.#client.presence(userID)
    return !presence || presence.is_online || this.hidesPresence ? null : presence.last_seen_at
  }

  /// Returns the id of the other user of a direct conversation.
  other({ kind, members, participant1_id: first, participant2_id: second }) {
    if (kind !== 'direct') return undefined
    const isOther = (id) => id !== this.userID
    return members.find((member) => isOther(member.user_id))?.user_id ?? [first, second].find(isOther)
  }

  title(conversation) {
    return conversation.kind === 'direct' ? this.name(this.other(conversation)) : conversation.title ?? 'Group'
  }

  role(conversation) {
    return conversation.members.find((member) => member.user_id === this.userID)?.role
  }

  /// Returns true if the user is the owner or an admin of a group.
  moderates(conversation) {
    return conversation.kind === 'group' && ['owner', 'admin'].includes(this.role(conversation))
  }

  /// Returns the ids of the members who are typing.
  typists({ id, members }) {
    return (this.#client.typing[id] ?? []).filter((user) => members.some((member) => member.user_id === user))
  }

  /// Returns until when a conversation is muted, or null if it is not.
  mutedUntil(conversation) {
    const until = conversation.muted_until && new Date(conversation.muted_until)
    return until > new Date() ? until : null
  }

  /// When the next conversation ceases to be muted.
  get nextUnmute() {
    const times = this.#client.conversations.map((each) => this.mutedUntil(each)).filter(Boolean)
    return times.length ? Math.min(...times) : null
  }
}
