// A copy of the user's data as a file.

import { sentence } from './errors.js'
import { toast } from './notice.js'

/// Reads all pages of the export, and lets the browser save them as a file of one JSON object a line. The button shows
/// how far it has come.
export async function downloadData(client, button) {
  const label = button.textContent
  button.disabled = true
  try {
    const parts = []
    let count = 0
    for (let after; after !== null;) {
      const { objects, next } = await client.call('me.export', after ? { after } : {})
      // A page becomes a blob, which a browser may keep on disk.
      parts.push(new Blob(objects.map((object) => `${JSON.stringify(object)}\n`)))
      count += objects.length
      button.textContent = `${count.toLocaleString('en')} objects…`
      after = next
    }
    const url = URL.createObjectURL(new Blob(parts, { type: 'application/jsonl' }))
    Object.assign(document.createElement('a'), { href: url, download: 'postline-export.jsonl' }).click()
    setTimeout(() => URL.revokeObjectURL(url), 60_000)
  } catch (error) {
    toast(sentence(error, null, 'That needs a connection.'), 'bad')
  } finally {
    button.textContent = label
    button.disabled = false
  }
}
