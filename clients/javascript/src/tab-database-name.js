import { uuid } from './uuid.js'

/** The databases of a tab that was closed are deleted after this time, since it may be opened again. */
const lifetime = 7 * 86_400_000
const stampInterval = 3_600_000

/**
 * Returns the prefix of this tab's databases, which survives a reload, and deletes those of tabs that were closed long
 * ago. A duplicate of the tab has the same prefix.
 *
 * @param {string} name
 */
export function tabDatabaseName(name) {
  const prefix = sessionStorage.getItem(name) ?? `${name}/${uuid()}`
  sessionStorage.setItem(name, prefix)
  const stamp = () => localStorage.setItem(prefix, String(Date.now()))
  stamp()
  setInterval(stamp, stampInterval)
  deleteExpired(name)
  return prefix
}

/** @param {string} name */
async function deleteExpired(name) {
  const oldest = Date.now() - lifetime
  const expired = Object.keys(localStorage).filter((key) => {
    return key.startsWith(`${name}/`) && Number(localStorage.getItem(key)) < oldest
  })
  if (!expired.length) return
  const databases = await indexedDB.databases()
  for (const prefix of expired) {
    for (const database of databases) {
      if (database.name?.startsWith(`${prefix}/`)) indexedDB.deleteDatabase(database.name)
    }
    localStorage.removeItem(prefix)
  }
}
