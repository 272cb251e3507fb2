// Where the pictures of messages can be read. An address is good for some minutes, so it is asked for when its picture
// comes near the screen, in one call for all that do, and again before its time is over.

import { ConnectionLost, RemoteError } from './errors.js'
import { learned, place } from './picture-place.js'

const mostIDs = 100
const mostAttempts = 3

export class Pictures {
  #link
  /// By id: `{address, renewAt}`; `address` is null where there is no picture any more.
  #known = new Map()
  #wanted = new Set()
  /// The frames that are on the screen, or nearly.
  #seen = new Set()
  #isAsking = false
  #wasOffered = false
  #timer
  /// Some way ahead of the scrolling.
  #observer = new IntersectionObserver((entries) => this.#looked(entries), { scrollMargin: '600px 0px' })

  constructor(link) { this.#link = link }

  /// True if the server stores pictures, as far as known.
  get isOffered() {
    if (this.#link.isOnline) this.#wasOffered = this.#link.has('media')
    return this.#wasOffered
  }

  /// Shows the picture in `frame`, an element with an `img` in it, whenever it is near the screen. Its `data-state`
  /// becomes `shown`, or `gone`.
  watch(frame, id) {
    frame.dataset.media = id
    const image = frame.querySelector('img')
    image.addEventListener('load', () => { frame.dataset.state = 'shown' })
    image.addEventListener('error', () => {
      delete image.dataset.address
      if (!this.#link.isOnline) {
        // Nothing comes now; the next connection asks again.
        this.#known.delete(id)
        this.#wanted.add(id)
        return
      }
      const attempts = Number(frame.dataset.attempts ?? 0) + 1
      frame.dataset.attempts = attempts
      if (attempts >= mostAttempts) frame.dataset.state = 'gone'
      else setTimeout(() => this.#want(id), 1000 * attempts)
    })
    // What is known already is there at once, also where a row is drawn anew.
    this.#draw(frame)
    this.#observer.observe(frame)
  }

  /// A picture that this page has itself.
  keep(id, address) { this.#known.set(id, { address, renewAt: Infinity }) }

  /// There is a connection again: what could not be asked is asked.
  resume() {
    if (this.#link.isOnline) this.#ask()
  }

  clear() {
    clearTimeout(this.#timer)
    for (const { address } of this.#known.values()) if (address?.startsWith('blob:')) URL.revokeObjectURL(address)
    this.#known.clear()
    this.#wanted.clear()
  }

  #looked(entries) {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting) this.#seen.add(target)
      else this.#seen.delete(target)
      if (!target.isConnected) this.#observer.unobserve(target)
    }
    this.#renew()
  }

  /// Asks for what is on the screen and has no address, or one that ends soon.
  #renew() {
    const now = Date.now()
    let next = Infinity
    for (const frame of this.#seen) {
      const known = this.#known.get(frame.dataset.media)
      if (known && known.renewAt > now) next = Math.min(next, known.renewAt)
      else this.#wanted.add(frame.dataset.media)
      this.#draw(frame)
    }
    clearTimeout(this.#timer)
    if (next < Infinity) this.#timer = setTimeout(() => this.#renew(), next - now + 50)
    if (this.#wanted.size) this.#ask()
  }

  #want(id) {
    this.#known.delete(id)
    this.#renew()
  }

  async #ask() {
    if (this.#isAsking || !this.#wanted.size || !this.#link.has('media')) return
    this.#isAsking = true
    const ids = [...this.#wanted].slice(0, mostIDs)
    let rest = 0
    try {
      await learned
      const { media } = await this.#link.call('media.urls', { ids })
      for (const id of ids) {
        this.#wanted.delete(id)
        this.#known.set(id, { address: null, renewAt: Infinity })
      }
      for (const { id, url, expires_at: expiresAt } of media) {
        // The server's clock may be another: ten minutes is what it promises.
        const lasts = Math.min(600_000, Math.max(5000, new Date(expiresAt) - Date.now()))
        this.#known.set(id, { address: place(url), renewAt: Date.now() + lasts * 0.8 })
      }
    } catch (error) {
      // A lost connection's are asked when there is one again.
      if (error instanceof RemoteError) rest = (error.data.retry_after ?? 5) * 1000
      else if (!(error instanceof ConnectionLost)) throw error
    } finally {
      this.#isAsking = false
    }
    if (rest) setTimeout(() => this.#renew(), rest)
    else if (this.#link.isOnline) this.#renew()
  }

  #draw(frame) {
    const known = this.#known.get(frame.dataset.media)
    if (!known || frame.dataset.state === 'gone') return
    const image = frame.querySelector('img')
    if (known.address === null) frame.dataset.state = 'gone'
    // What is drawn stays: only a picture that is still to come takes the newer address.
    else if (frame.dataset.state !== 'shown' && image.dataset.address !== known.address) {
      image.dataset.address = known.address
      image.src = known.address
      if (image.complete && image.naturalWidth) frame.dataset.state = 'shown'
    }
  }
}
