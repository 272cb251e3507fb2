// The pictures that wait to be sent, in IndexedDB, so that they survive a reload as the texts in the outbox do.

const name = 'pictures'
let opened = null

function database() {
  opened ??= new Promise((resolve, reject) => {
    const request = indexedDB.open('postline', 1)
    request.onupgradeneeded = () => request.result.createObjectStore(name, { keyPath: 'clientID' })
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error)
  })
  return opened
}

/// Resolves with the result of the request that `act` makes; with undefined where the browser keeps nothing, as in some
/// private windows. Pictures then wait only as long as the page is open.
async function run(mode, act) {
  try {
    const transaction = (await database()).transaction(name, mode)
    const request = act(transaction.objectStore(name))
    return await new Promise((resolve, reject) => {
      transaction.oncomplete = () => resolve(request.result)
      transaction.onabort = () => reject(transaction.error)
    })
  } catch (error) {
    console.info('Pictures cannot be stored:', error)
    return undefined
  }
}

export function storePicture(record) { return run('readwrite', (store) => store.put(record)) }

export function removePicture(clientID) { return run('readwrite', (store) => store.delete(clientID)) }

/// Resolves with all that is stored, that of other tabs too.
export async function storedPictures() { return await run('readonly', (store) => store.getAll()) ?? [] }
