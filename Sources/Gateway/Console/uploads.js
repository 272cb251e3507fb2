// The pictures that are on their way. As with the outbox, each has a client_id from its beginning and so is sent once;
// but they live as long as the page, since a picture is too much for what a tab can keep.

import { uuid } from './dom.js'
import { ConnectionLost, sentence } from './errors.js'
import { announce, toast } from './notice.js'
import { forMessage } from './picture-file.js'
import { upload } from './upload.js'

export class Uploads {
  #app
  #uploads = []
  /// One at a time, so that they come in the order in which they were given.
  #last = Promise.resolve()
  #wake = () => {}
  onChange = () => {}

  constructor(app) { this.#app = app }

  of(conversationID) { return this.#uploads.filter((each) => each.conversationID === conversationID) }

  /// Sends files as messages of their own; what cannot be sent is said.
  async add(conversationID, files) {
    for (const file of files) {
      try {
        const picture = await forMessage(file)
        const made = {
          clientID: uuid(), conversationID, picture, content: '', name: file.name || 'the picture', mediaID: null,
          shown: URL.createObjectURL(picture.blob), writtenAt: new Date().toISOString(), failure: null, part: 0,
          onProgress: () => {},
        }
        this.#uploads.push(made)
        this.#begin(made)
      } catch (error) {
        toast(error.message, 'bad')
      }
    }
  }

  retry(clientID) {
    const found = this.#find(clientID)
    if (found?.failure) this.#begin(found)
  }

  /// Gives it up, however far it is.
  cancel(clientID) {
    const found = this.#find(clientID)
    if (!found) return
    this.#forget(found)
    found.canceller.abort()
    URL.revokeObjectURL(found.shown)
  }

  /// There is a connection again.
  resume() { this.#wake() }

  clear() { for (const { clientID } of [...this.#uploads]) this.cancel(clientID) }

  #find(clientID) { return this.#uploads.find((each) => each.clientID === clientID) }

  #begin(made) {
    made.failure = null
    made.part = 0
    made.canceller = new AbortController()
    announce(`Sending ${made.name}.`)
    this.onChange()
    this.#last = this.#last.then(() => this.#carry(made))
  }

  async #carry(made) {
    const { signal } = made.canceller
    const { link, store, pictures } = this.#app
    try {
      signal.throwIfAborted()
      made.mediaID ??= await upload(link, made.picture, {
        purpose: 'message', conversationID: made.conversationID, signal,
        onProgress: (part) => {
          made.part = part
          made.onProgress(part)
        },
      })
      const message = await this.#send(made, signal)
      // The sender has the picture: why fetch it?
      pictures.keep(made.mediaID, made.shown)
      this.#forget(made)
      store.applyMessages([message])
    } catch (error) {
      if (signal.aborted) return
      // What arrived and is not taken is to arrive anew.
      made.mediaID = null
      made.failure = sentence(error, 'The picture')
      announce(`Not sent: ${made.name}. ${made.failure}`)
      this.onChange()
    }
  }

  /// A picture that has arrived is sent by however many connections it takes.
  async #send(made, signal) {
    const { link } = this.#app
    const { blob, type, width, height } = made.picture
    for (;;) {
      signal.throwIfAborted()
      try {
        return await link.call('messages.send', {
          conversation_id: made.conversationID, kind: 'image', content: '', client_id: made.clientID,
          attachment: { media_id: made.mediaID, mime_type: type, width, height, bytes: blob.size },
        })
      } catch (error) {
        if (!(error instanceof ConnectionLost || error.isRetryable)) throw error
        await new Promise((resolve) => {
          this.#wake = resolve
          signal.addEventListener('abort', resolve, { once: true })
          if (link.isOnline) setTimeout(resolve, (error.data?.retry_after ?? 1) * 1000)
        })
      }
    }
  }

  #forget(made) {
    this.#uploads = this.#uploads.filter((each) => each !== made)
    this.onChange()
  }
}
