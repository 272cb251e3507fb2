/** @typedef {import('../types').Profile} Profile */
/** @typedef {import('../types').Presence} Presence */
/** @typedef {import('./mirror.js').Mirror} Mirror */
/** @typedef {import('./mirror.js').ChangeRecord} ChangeRecord */
/**
 * A conversation of the protocol, with what the device adds.
 *
 * - `name`: the title of a group, or the name of the other user; null if that user is deleted.
 * - `users`: the members' newest profiles.
 * - `other`: the other user of a direct conversation.
 * - `presence`: the other members' presence, by user. Without a live connection no user is online.
 * - `draft`: the text that the user typed and has not sent.
 * - `last_message_event`: the group change of the newest message, if it is one.
 * - `last_message_kind`: the newest message's kind, as far as known.
 * - `is_last_message_blocked`: the newest message is one of those with `is_blocked`.
 * - `is_blocked`: the user blocks the other one of the direct conversation, so neither can write.
 *
 * `last_*`, `last_read_seq`, `unread_*`, `is_*` and `pinned_seqs` include what the outbox has not sent yet.
 *
 * @typedef {import('../types').Conversation & {
 *   name: string | null, users: Profile[], other: Profile | null, presence: Readonly<Record<string, Presence>>,
 *   draft: string, is_blocked: boolean, is_last_message_blocked: boolean,
 *   last_message_event?: import('../types').Message['event'],
 *   last_message_kind?: import('../types').Message['kind']
 * }} ConversationView
 */

const noPresence = Object.freeze({})
/** @type {ChangeRecord[]} */
const noChanges = []

/**
 * Returns a user's name, or null if it has none.
 *
 * @param {Pick<Profile, 'full_name' | 'username'> | null} [profile]
 */
export function displayName(profile) { return profile?.full_name ?? profile?.username ?? null }

/**
 * The conversation list. Its array, and each object in it, stay the same until their content differs, so that a view
 * can compare them by `===`.
 */
export class ConversationViews {
  /** @type {Map<string, ConversationView>} */
  #views = new Map()
  /**
   * What is shown of users who were online, without a connection.
   *
   * @type {WeakMap<Presence, Presence>}
   */
  #offline = new WeakMap()
  /**
   * All conversations, the newest first.
   *
   * @type {readonly ConversationView[]}
   */
  list = []

  /**
   * @param {Mirror} mirror
   * @param {string} userID
   */
  constructor(mirror, userID) {
    this.mirror = mirror
    this.userID = userID
  }

  /**
   * @param {string} id
   * @returns {ConversationView | null}
   */
  get(id) { return this.#views.get(id) ?? null }

  /**
   * Makes the views anew that differ.
   *
   * @param {{ conversations?: Set<string>, users?: Set<string> }} touched Without `conversations`, all are made.
   * @param {boolean} isLive
   */
  update({ conversations, users }, isLive) {
    const { conversation: records } = this.mirror
    const ids = new Set(conversations ?? records.keys())
    if (users?.size) {
      for (const [id, { value }] of records) if (value.members.some((each) => users.has(each.user_id))) ids.add(id)
    }
    if (!ids.size) return
    const changes = this.#changesByConversation()
    const made = []
    for (const id of ids) {
      const record = records.get(id)
      if (!record) {
        this.#views.delete(id)
        continue
      }
      const view = this.#view(record.value, changes.get(id) ?? noChanges, isLive)
      this.#views.set(id, view)
      made.push(view)
    }
    if (!conversations) for (const id of this.#views.keys()) if (!records.has(id)) this.#views.delete(id)
    const kept = this.list.filter(({ id }) => !ids.has(id) && this.#views.has(id))
    // Those that are kept are sorted already, which takes no more than a comparison for each.
    this.list = Object.freeze([...kept, ...made].sort(byActivity))
  }

  #changesByConversation() {
    /** @type {Map<string, ChangeRecord[]>} */
    const groups = new Map()
    if (!this.mirror.change.size) return groups
    for (const change of this.mirror.changes) {
      if (!change.refusal) groups.set(change.queue, [...groups.get(change.queue) ?? [], change])
    }
    return groups
  }

  /**
   * @param {import('./mirror.js').StoredConversation} value
   * @param {ChangeRecord[]} changes
   * @param {boolean} isLive
   * @returns {ConversationView}
   */
  #view(value, changes, isLive) {
    const users = []
    /** @type {Profile | null} */
    let other = null
    /** @type {Record<string, Presence> | undefined} */
    let presence
    let is_blocked = false
    for (const { user_id } of value.members) {
      const profile = this.profile(user_id)
      if (profile) users.push(profile)
      if (user_id === this.userID) continue
      if (value.kind === 'direct') {
        other = profile
        is_blocked = this.mirror.blocked.includes(user_id)
      }
      const known = this.presence(user_id, isLive)
      if (known) (presence ??= {})[user_id] = known
    }
    let mark = value.last_read_seq
    /** @type {ChangeRecord | undefined} */
    let last
    // An older server, or the records of an older client, have none of these members.
    const { is_marked_unread = false, is_archived = false, is_pinned = false, pinned_seqs = [], data = null } = value
    const own = { is_marked_unread, is_archived, is_pinned, pinned_seqs }
    for (const change of changes) {
      const { method, params } = change
      if (method === 'messages.mark_read') mark = Math.max(mark, params.seq)
      if (method === 'messages.send') last = change
      if (method === 'messages.mark_read' || method === 'messages.send') own.is_marked_unread = false
      if (method === 'conversations.set') {
        const { conversation_id, ...settings } = params
        Object.assign(own, settings)
      }
      if (method === 'messages.pin') {
        const others = own.pinned_seqs.filter((seq) => seq !== params.seq)
        own.pinned_seqs = params.is_pinned ? [params.seq, ...others] : others
      }
    }
    const view = {
      ...value, ...own, data, users, other, is_blocked, presence: presence ?? noPresence,
      draft: this.mirror.draft.get(value.id)?.content ?? '',
      name: value.kind === 'direct' ? displayName(other) : value.title,
      last_read_seq: mark, unread_count: Math.max(0, value.last_seq - mark),
      unread_mentions: mark >= value.last_seq ? 0 : value.unread_mentions ?? 0,
      is_last_message_blocked: this.isBlocked({
        conversation_id: value.id, sender_id: value.last_message_sender_id, kind: value.last_message_kind,
      }),
    }
    // An unsent message is the newest.
    return !last ? view : {
      ...view, last_message_content: last.params.content ?? '', last_message_time: last.created_at,
      last_message_sender_id: this.userID, last_message_event: undefined,
      last_message_kind: last.params.kind ?? 'text', is_last_message_blocked: false,
    }
  }

  /**
   * Returns true for a message in a group of a user whom the user blocks. What happens to the group is shown.
   *
   * @param {{ conversation_id: string, sender_id: any, kind?: any }} message
   */
  isBlocked({ conversation_id, sender_id, kind }) {
    return kind !== 'system' && this.mirror.blocked.includes(sender_id)
      && this.mirror.conversation.get(conversation_id)?.value.kind !== 'direct'
  }

  /**
   * Returns a user's newest profile.
   *
   * @param {string} id
   * @returns {Profile | null}
   */
  profile(id) {
    return (id === this.userID ? this.mirror.serverMe : this.mirror.profile.get(id)?.value) ?? null
  }

  /**
   * @param {string} id
   * @param {boolean} isLive
   * @returns {Presence | null}
   */
  presence(id, isLive) {
    const presence = this.mirror.presence.get(id)?.value
    if (!presence) return null
    if (isLive || !presence.is_online) return presence
    const offline = this.#offline.get(presence) ?? { ...presence, is_online: false }
    this.#offline.set(presence, offline)
    return offline
  }
}

/**
 * @param {ConversationView} a
 * @param {ConversationView} b
 */
function byActivity(a, b) {
  const first = a.last_message_time ?? a.created_at
  const second = b.last_message_time ?? b.created_at
  if (first !== second) return first > second ? -1 : 1
  return a.id < b.id ? -1 : 1
}
