// Who is typing in a conversation, as a text.

/// Returns a text about who is typing, or an empty one. A name that is shown above anyway is omitted.
export function typingText(directory, conversation, isNamed = conversation.kind === 'group') {
  const ids = directory.typists(conversation)
  if (!ids.length) return ''
  if (!isNamed) return 'is typing'
  if (ids.length === 1) return `${directory.name(ids[0])} is typing`
  // Of more than one, whole names would leave no room for what they do.
  const names = ids.map((id) => directory.name(id).split(' ')[0])
  if (names.length < 4) return `${names.slice(0, -1).join(', ')} and ${names.at(-1)} are typing`
  return `${names[0]}, ${names[1]} and ${names.length - 2} others are typing`
}
