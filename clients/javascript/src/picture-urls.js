const maxIDs = 100
/** The server promises ten minutes. A URL is used for eight of them. */
const lifetime = 8 * 60_000

/** @typedef {{ media: { id: string, url: string }[] }} Results */

/** The URLs of messages' pictures: fetched together for all that are asked for at the same time, and cached. */
export class PictureURLs {
  /** @type {Map<string, { url: Promise<string | null>, until: number }>} */
  #cache = new Map()
  /** @type {Map<string, { resolve: (url: string | null) => void, reject: (error: any) => void }>} */
  #wanted = new Map()

  /**
   * @param {(method: 'media.urls', params: { ids: string[] }) => Promise<Results>} call
   * @param {import('./upload.js').MediaURL} [mediaURL]
   */
  constructor(call, mediaURL = (url) => url) {
    this.call = call
    this.mediaURL = mediaURL
  }

  /**
   * Returns the URL of a picture, or null if it is gone or the user may not see it.
   *
   * @param {string} mediaID
   * @param {boolean} renew True to ask the server again.
   * @returns {Promise<string | null>}
   */
  get(mediaID, renew) {
    const held = this.#cache.get(mediaID)
    if (held && held.until > Date.now() && !renew) return held.url
    /** @type {Promise<string | null>} */
    const url = new Promise((resolve, reject) => {
      if (!this.#wanted.size) queueMicrotask(() => this.#fetch())
      this.#wanted.set(mediaID, { resolve, reject })
    })
    this.#cache.set(mediaID, { url, until: Date.now() + lifetime })
    // An error is not cached.
    url.catch(() => this.#cache.delete(mediaID))
    return url
  }

  #fetch() {
    const wanted = [...this.#wanted]
    this.#wanted.clear()
    while (wanted.length) this.#fetchPage(wanted.splice(0, maxIDs))
  }

  /** @param {[string, { resolve: (url: string | null) => void, reject: (error: any) => void }][]} wanted */
  async #fetchPage(wanted) {
    try {
      const { media } = await this.call('media.urls', { ids: wanted.map(([id]) => id) })
      const urls = new Map(media.map(({ id, url }) => [id, url]))
      for (const [id, { resolve }] of wanted) {
        const url = urls.get(id)
        resolve(url ? await this.mediaURL(url) : null)
      }
    } catch (error) {
      for (const [, { reject }] of wanted) reject(error)
    }
  }
}
