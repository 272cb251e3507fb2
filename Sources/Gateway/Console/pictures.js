// The pictures of messages. The URL of one is good for some minutes, so it is asked for when the picture comes near the
// screen, in one call for all that do.

const mostAttempts = 3

export class Pictures {
  #client
  #isOffered = true
  /// The URLs by which pictures were last shown, by id, so that a row that is drawn anew has its picture at once.
  #urls = new Map()
  /// The frames whose pictures wait for a connection.
  #waiting = new Set()
  /// Some way ahead of the scrolling.
  #observer = new IntersectionObserver((entries) => this.#seen(entries), { scrollMargin: '600px 0px' })

  constructor(client) { this.#client = client }

  /// True if the server stores pictures, or did when there was a connection.
  get isOffered() {
    const { hello } = this.#client
    if (hello) this.#isOffered = hello.features.includes('media')
    return this.#isOffered
  }

  /// Shows the picture of a message in `frame`, an element with an `img` in it, once it is near the screen. Its
  /// `data-state` becomes `shown`, or `gone`.
  watch(frame, { attachment, preview }) {
    const id = attachment.media_id
    frame.dataset.media = id
    const image = frame.querySelector('img')
    image.addEventListener('load', () => {
      frame.dataset.state = 'shown'
      // The client revokes previews.
      if (!preview) this.#urls.set(id, image.src)
    })
    image.addEventListener('error', () => this.#failed(frame))
    const url = preview ?? this.#urls.get(id)
    if (!url) return this.#observer.observe(frame)
    image.src = url
    if (image.complete && image.naturalWidth) frame.dataset.state = 'shown'
  }

  /// Shows what has waited for a connection.
  resume() {
    for (const frame of this.#waiting) this.#show(frame, true)
    this.#waiting.clear()
  }

  clear() {
    this.#urls.clear()
    this.#waiting.clear()
  }

  #seen(entries) {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting) this.#show(target)
      if (isIntersecting || !target.isConnected) this.#observer.unobserve(target)
    }
  }

  #failed(frame) {
    if (this.#client.state.name !== 'live') return this.#waiting.add(frame)
    const attempts = Number(frame.dataset.attempts ?? 0) + 1
    frame.dataset.attempts = attempts
    if (attempts >= mostAttempts) frame.dataset.state = 'gone'
    else setTimeout(() => this.#show(frame, true), 1000 * attempts)
  }

  async #show(frame, renew = false) {
    if (!frame.isConnected) return
    if (this.#client.state.name === 'offline') return this.#waiting.add(frame)
    try {
      const url = await this.#client.pictureURL({ media_id: frame.dataset.media }, { renew })
      if (url) frame.querySelector('img').src = url
      else frame.dataset.state = 'gone'
    } catch (error) {
      if (error.code === 'offline') this.#waiting.add(frame)
      else setTimeout(() => this.#show(frame), (error.retryAfter ?? 5) * 1000)
    }
  }
}
