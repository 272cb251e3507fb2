const newMembers = [
  'unread_mentions', 'is_marked_unread', 'is_archived', 'is_pinned', 'pinned_seqs', 'data', 'reply_to', 'mentions',
  'mentions_everyone', 'reactions',
]

/** Makes the records of a user's database those of a client before reactions. It runs in Node and in browsers. */
export async function makeOlder(storage, userID) {
  const database = await storage.open(`user/${userID}`)
  const writes = [{ table: 'setting', key: 'record_version' }]
  const without = (object) => Object.fromEntries(Object.entries(object).filter(([name]) => !newMembers.includes(name)))
  for (const record of await database.read('conversation')) {
    writes.push({ table: 'conversation', key: record.value.id, value: { ...record, value: without(record.value) } })
  }
  for (const message of await database.read('message')) {
    const key = `${message.conversation_id}/${String(message.seq).padStart(16, '0')}`
    writes.push({ table: 'message', key, value: without(message) })
  }
  await database.write(writes)
  database.close()
}
