/** @typedef {import('../types').Conversation} Conversation */
/** @typedef {import('../types').Profile} Profile */
/** @typedef {import('../types').Presence} Presence */
/** @typedef {import('../types').Message} Message */
/** @typedef {import('./storage.js').Write} Write */
/**
 * A conversation as the device stores it. It has the messages from `first_seq` to `held_seq`, and none if `first_seq`
 * is greater. `generation` counts resets: an object of an earlier one waits for its replacement.
 *
 * @typedef {Conversation & {
 *   last_message_event?: Message['event'], last_message_kind?: Message['kind'], last_message_is_held?: boolean
 * }} StoredConversation
 * @typedef {{
 *   generation: number, first_seq: number, held_seq: number, oldest_seq?: number, value: StoredConversation
 * }} ConversationRecord
 */
/**
 * The methods that the outbox calls.
 *
 * @typedef {'messages.send' | 'messages.edit' | 'messages.delete' | 'messages.react' | 'messages.pin'
 *   | 'messages.mark_read' | 'conversations.set' | 'me.save'} QueuedMethod
 */
/**
 * A change of the user that the server has not acknowledged.
 *
 * @typedef {object} ChangeRecord
 * @property {string} key It sorts by the time of the change.
 * @property {string} queue The conversation's id, or `me`. The changes of a queue are sent in order.
 * @property {QueuedMethod} method
 * @property {any} params
 * @property {string} created_at
 * @property {ReturnType<import('./errors.js').PostlineError['toJSON']> | null} refusal
 * @property {boolean} [isHeld] True for a message that was written without a connection, until it is first sent.
 * @property {import('./picture.js').Picture[]} [files] Files to upload before the message is sent.
 * @property {import('./picture.js').Picture} [picture] The only one, of a version before.
 * @property {Uploaded[]} [uploads] What was uploaded of the files.
 */
/** @typedef {{ id?: string, begun?: import('./upload.js').Created }} UploadState */
/** @typedef {{ file?: UploadState, preview?: UploadState }} Uploaded */
/**
 * What a commit has touched.
 *
 * @typedef {object} Touched
 * @property {Set<string>} conversations The ids of conversations whose list entry may differ.
 * @property {Set<string>} users The ids of users whose profile or presence may differ.
 * @property {Set<string>} messages The ids of conversations whose messages may differ.
 * @property {boolean} me
 * @property {boolean} changes
 * @property {Message[]} news The messages that are new to the user. None of a reset is.
 */

/**
 * A list without an id.
 *
 * @type {readonly string[]}
 */
export const noIDs = Object.freeze([])

/** The records of a database in memory, except messages. Reading it takes no time, so views are made from it. */
export class Mirror {
  /** @type {Map<string, any>} */
  setting = new Map()
  /** @type {Map<string, ConversationRecord>} */
  conversation = new Map()
  /** @type {Map<string, { generation: number, value: Profile }>} */
  profile = new Map()
  /** @type {Map<string, { generation: number, value: Presence }>} */
  presence = new Map()
  /** @type {Map<string, ChangeRecord>} */
  change = new Map()
  /** @type {Map<string, { id: string, content: string }>} */
  draft = new Map()

  /**
   * Reads all records from a database.
   *
   * @param {import('./storage.js').Database} database
   */
  async load(database) {
    const names = /** @type {const} */ (['setting', 'conversation', 'profile', 'presence', 'change', 'draft'])
    await Promise.all(names.map(async (table) => {
      /** @type {Map<string, any>} */
      const records = this[table]
      for (const each of await database.read(table)) {
        const key = each.key ?? each.id ?? each.name ?? each.value.id ?? each.value.user_id
        records.set(key, table === 'setting' ? each.value : each)
      }
    }))
  }

  /** The changes in the order in which the user made them. */
  get changes() { return [...this.change.values()].sort((a, b) => (a.key < b.key ? -1 : 1)) }

  /**
   * The user's own data as the server has it.
   *
   * @returns {import('../types').Me | null}
   */
  get serverMe() { return this.setting.get('me')?.value ?? null }

  /**
   * The ids of the users whom the user blocks.
   *
   * @returns {readonly string[]}
   */
  get blocked() { return this.setting.get('blocked') ?? noIDs }

  /**
   * Applies writes, and returns what they touched.
   *
   * @param {Write[]} writes
   * @returns {Touched}
   */
  apply(writes) {
    /** @type {Touched} */
    const touched = {
      conversations: new Set(), users: new Set(), messages: new Set(), me: false, changes: false,
      news: this.#news(writes),
    }
    for (const write of writes) {
      if (write.table === 'message') {
        touched.messages.add(('from' in write ? write.from : write.key).split('/', 1)[0])
        continue
      }
      if ('from' in write) continue
      const { table, key, value } = write
      /** @type {Map<string, any>} */
      const records = this[table]
      const former = records.get(key)
      if (value === undefined) records.delete(key)
      else records.set(key, table === 'setting' ? value.value : value)
      if (table === 'setting') {
        touched.me ||= key === 'me'
        if (key === 'blocked') for (const id of this.conversation.keys()) touched.conversations.add(id)
      }
      else if (table === 'profile' || table === 'presence') touched.users.add(key)
      else if (table === 'change') {
        const { queue } = value ?? former ?? {}
        touched.changes = true
        if (queue === 'me') touched.me = true
        else if (queue) touched.conversations.add(queue)
      } else touched.conversations.add(key)
    }
    return touched
  }

  /**
   * Returns the new messages among writes that are not applied yet.
   *
   * @param {Write[]} writes
   * @returns {Message[]}
   */
  #news(writes) {
    const isReset = this.setting.has('is_resetting') || !this.setting.has('cursor')
      || writes.some((write) => 'key' in write && write.key === 'is_resetting')
    if (isReset) return []
    /** @type {Map<string, ConversationRecord>} */
    const added = new Map()
    for (const write of writes) if (write.table === 'conversation' && 'key' in write) added.set(write.key, write.value)
    /** @type {Message[]} */
    const messages = writes.flatMap((write) => {
      return write.table === 'message' && 'key' in write && write.value?.version === 1 ? [write.value] : []
    })
    return messages.filter(({ conversation_id, seq }) => {
      const held = this.conversation.get(conversation_id)
      // Of a conversation that is new to the user, the messages from before it joined are not.
      return seq > (held?.held_seq ?? added.get(conversation_id)?.value.last_read_seq ?? Infinity)
    }).sort((a, b) => (a.conversation_id === b.conversation_id ? a.seq - b.seq : a.created_at < b.created_at ? -1 : 1))
  }
}

/**
 * Returns the files of a change.
 *
 * @param {Pick<ChangeRecord, 'files' | 'picture'>} change
 */
export function filesOf({ files, picture }) { return files ?? (picture ? [picture] : []) }
