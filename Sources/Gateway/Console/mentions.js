// Mentions: whom a text such as `@bob` means, and who can be mentioned in a conversation.

/// The id of a mention of all members.
export const everyone = 'everyone'

/// Returns those whom the user can mention in a conversation as `{ id, names }`. `names[0]` is what the page writes.
export function mentionable(directory, conversation) {
  return [
    ...conversation.members.map((member) => member.user_id).filter((id) => id !== directory.userID)
      .map((id) => mention(directory, id)).filter(({ names }) => names.length > 0),
    ...directory.moderates(conversation) ? [mention(directory, everyone)] : [],
  ]
}

/// Returns a mentioned user, or all members, as `{ id, names }`.
export function mention(directory, id) {
  if (id === everyone) return { id, names: [everyone] }
  const person = directory.person(id)
  return { id, names: [person?.username, person?.full_name].filter(Boolean) }
}

/// Returns where a text mentions some of these people, as `{ index, length, id }` in the order of the text.
export function findMentions(text, people) {
  const names = people.flatMap(({ id, names }) => names.map((name) => ({ id, name: name.toLowerCase() })))
    .sort((a, b) => b.name.length - a.name.length)
  const found = []
  // An address such as a@b.c has a letter before the sign.
  for (const { index } of names.length ? text.matchAll(/(?<![\p{L}\p{N}_.])@/gu) : []) {
    const rest = text.slice(index + 1)
    const match = names.find(({ name }) => {
      return rest.slice(0, name.length).toLowerCase() === name && !/^[\p{L}\p{N}_]/u.test(rest.slice(name.length))
    })
    if (match) found.push({ index, length: match.name.length + 1, id: match.id })
  }
  return found
}

/// Returns the params of a message with this text. `former` is the message that is edited: whom it mentions without
/// naming them stays mentioned.
export function mentionParams(directory, conversation, text, former) {
  const idsIn = (written, people) => new Set(findMentions(written, people).map(({ id }) => id))
  const ids = idsIn(text, mentionable(directory, conversation))
  if (former) {
    const before = [...former.mentions, ...former.mentions_everyone ? [everyone] : []]
    const named = idsIn(former.content ?? '', before.map((id) => mention(directory, id)))
    for (const id of before) if (!named.has(id)) ids.add(id)
  }
  const hasAll = ids.delete(everyone)
  if (!former && !ids.size && !hasAll) return {}
  return { mentions: [...ids].slice(0, 50), ...(hasAll || former?.mentions_everyone) && { mentions_everyone: hasAll } }
}
