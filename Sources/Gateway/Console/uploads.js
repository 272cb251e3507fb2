// The pictures that wait to be sent, and their uploads. As in the outbox, each has a client_id from its beginning, so
// that it is sent once over any number of connections.

import { uuid } from './dom.js'
import { ConnectionLost, sentence } from './errors.js'
import { announce } from './notice.js'
import { removePicture, storedPictures, storePicture } from './picture-storage.js'
import { upload, UploadInterrupted } from './upload.js'

const tabKey = 'postline.tab'
/// An upload that is interrupted while the connection to the server stands is tried again so often.
const mostInterruptions = 3
/// A picture of a tab that was closed is removed after this time.
const mostDays = 7

export class Uploads {
  #app
  #uploads = []
  /// One upload at a time, so that pictures arrive in the order in which they were added.
  #last = Promise.resolve()
  #wake = () => {}
  /// The session is the tab's, and so are the pictures that it sends.
  #tab = sessionStorage.getItem(tabKey) ?? uuid()
  onChange = () => {}

  constructor(app) {
    this.#app = app
    sessionStorage.setItem(tabKey, this.#tab)
  }

  of(conversationID) { return this.#uploads.filter((each) => each.conversationID === conversationID) }

  /// The number of pictures that are not sent yet and have not failed.
  get waiting() { return this.#uploads.filter((each) => each.failure === null).length }

  /// Sends pictures, each `{picture, name, content}`, as messages.
  add(conversationID, pictures) {
    for (const { picture, name, content } of pictures) {
      const record = {
        clientID: uuid(), tab: this.#tab, userID: this.#app.session.userID, conversationID, picture, name, content,
        writtenAt: new Date().toISOString(),
      }
      storePicture(record)
      this.#take(record)
    }
  }

  /// Takes up what this tab had not sent when it was reloaded.
  async restore(userID) {
    const oldest = new Date(Date.now() - mostDays * 86_400_000).toISOString()
    const records = await storedPictures()
    for (const record of records.sort((a, b) => (a.writtenAt < b.writtenAt ? -1 : 1))) {
      const isOwn = record.tab === this.#tab
      if (isOwn && record.userID === userID) this.#take(record)
      else if (isOwn || record.writtenAt < oldest) removePicture(record.clientID)
    }
  }

  retry(clientID) {
    const found = this.#find(clientID)
    if (found?.failure) this.#begin(found)
  }

  /// Gives the picture up, however far its upload is.
  cancel(clientID) {
    const found = this.#find(clientID)
    if (!found) return
    this.#forget(found)
    found.canceller.abort()
    URL.revokeObjectURL(found.shown)
  }

  /// Goes on, now that there is a connection again.
  resume() { this.#wake() }

  clear() { for (const { clientID } of [...this.#uploads]) this.cancel(clientID) }

  #find(clientID) { return this.#uploads.find((each) => each.clientID === clientID) }

  #take(record) {
    const made = {
      ...record, mediaID: null, shown: URL.createObjectURL(record.picture.blob), failure: null, part: 0,
      onProgress: () => {},
    }
    this.#uploads.push(made)
    this.#begin(made)
  }

  #begin(made) {
    made.failure = null
    made.part = 0
    made.canceller = new AbortController()
    announce(`Sending ${made.name}.`)
    this.onChange()
    this.#last = this.#last.then(() => this.#carry(made))
  }

  /// Uploads and sends the picture, by as many connections as that takes.
  async #carry(made) {
    const { signal } = made.canceller
    let interruptions = 0
    while (!signal.aborted) {
      try {
        await this.#send(made, signal)
        return
      } catch (error) {
        if (signal.aborted) return
        if (error instanceof UploadInterrupted && this.#app.link.isOnline) interruptions += 1
        const waits = error instanceof ConnectionLost || error.isRetryable
          || (error instanceof UploadInterrupted && interruptions < mostInterruptions)
        if (!waits) return this.#fail(made, error)
        await this.#pause(signal, error.data?.retry_after ?? 1)
      }
    }
  }

  async #send(made, signal) {
    const { link, store, pictures } = this.#app
    const { blob, type, width, height } = made.picture
    made.mediaID ??= await upload(link, made.picture, {
      purpose: 'message', conversationID: made.conversationID, signal,
      onProgress: (part) => {
        made.part = part
        made.onProgress(part)
      },
    })
    signal.throwIfAborted()
    const message = await link.call('messages.send', {
      conversation_id: made.conversationID, kind: 'image', content: made.content, client_id: made.clientID,
      attachment: { media_id: made.mediaID, mime_type: type, width, height, bytes: blob.size },
    })
    // The sender need not fetch its own picture.
    pictures.keep(made.mediaID, made.shown)
    this.#forget(made)
    store.applyMessages([message])
  }

  #fail(made, error) {
    // A picture that arrived and was refused is uploaded again.
    made.mediaID = null
    made.failure = sentence(error, 'The picture')
    announce(`Not sent: ${made.name}. ${made.failure}`)
    this.onChange()
  }

  /// Resolves when there is a connection again, or after some seconds if there is one.
  #pause(signal, seconds) {
    return new Promise((resolve) => {
      this.#wake = resolve
      signal.addEventListener('abort', resolve, { once: true })
      if (this.#app.link.isOnline) setTimeout(resolve, seconds * 1000)
    })
  }

  #forget(made) {
    removePicture(made.clientID)
    this.#uploads = this.#uploads.filter((each) => each !== made)
    this.onChange()
  }
}
