/** Sent pictures whose URLs are kept, so that the sender need not fetch them. */
const maxSent = 20

/** The object URLs of pictures on the device. Each is released when its picture is no longer shown. */
export class ObjectURLs {
  /** @type {Map<string, string>} */
  #queued = new Map()
  /** @type {Map<string, string>} */
  #sent = new Map()

  /**
   * Returns the URL of a queued picture.
   *
   * @param {string} key
   * @param {Blob} blob
   * @returns {string | null}
   */
  get(key, blob) {
    if (typeof URL.createObjectURL !== 'function') return null
    const url = this.#queued.get(key) ?? URL.createObjectURL(blob)
    this.#queued.set(key, url)
    return url
  }

  /**
   * @param {string} mediaID
   * @returns {string | null}
   */
  sent(mediaID) { return this.#sent.get(mediaID) ?? null }

  /**
   * Ends the queueing of a picture. With the id under which it was sent, its URL is kept for a while.
   *
   * @param {string} key
   * @param {string} [mediaID]
   */
  release(key, mediaID) {
    const url = this.#queued.get(key)
    if (!url) return
    this.#queued.delete(key)
    if (!mediaID) return URL.revokeObjectURL(url)
    this.#sent.set(mediaID, url)
    if (this.#sent.size <= maxSent) return
    const [oldest, oldestURL] = this.#sent.entries().next().value
    this.#sent.delete(oldest)
    URL.revokeObjectURL(oldestURL)
  }

  clear() {
    for (const url of [...this.#queued.values(), ...this.#sent.values()]) URL.revokeObjectURL(url)
    this.#queued.clear()
    this.#sent.clear()
  }
}
