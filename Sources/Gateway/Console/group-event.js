// Changes of a conversation, as its system messages tell them.

import { ttlText } from './expiry.js'

const list = new Intl.ListFormat('en')

/// Returns the sentence for a message of kind `system`: `Anna added Ben`. An event of a type that is not known here,
/// and a message without one, is what its content says.
export function eventText(directory, { event, sender_id: sender, content }) {
  const name = (id) => (id === directory.userID ? 'you' : directory.name(id))
  const names = list.format((event?.user_ids ?? []).map(name))
  const subject = sender === directory.userID ? 'You' : directory.name(sender)
  switch (event?.type) {
    case 'members_added': return `${subject} added ${names}`
    case 'member_removed': return `${subject} removed ${names}`
    case 'member_left': return `${subject} left the group`
    case 'renamed': return `${subject} renamed the group to “${event.title}”`
    case 'ttl_changed': return event.message_ttl_seconds
      ? `${subject} set messages to be deleted after ${ttlText(event.message_ttl_seconds)}`
      : `${subject} turned the deletion of messages off`
    default: return content ?? 'This message was deleted.'
  }
}
