// The tab's session: its tokens, kept as long as the tab, so that two tabs can be two people.

import { uuid } from './dom.js'

const key = 'postline.session'

export class Session {
  #state = JSON.parse(sessionStorage.getItem(key) ?? 'null')
  // A tab that is duplicated has the same tokens, and a refresh token that two use ends the session. So the copies
  // tell each other what they got in exchange.
  #copies = new BroadcastChannel('postline.session')

  constructor() {
    this.#copies.onmessage = ({ data }) => {
      if (this.#state && data.family === this.#state.family && data.renewAt > this.#state.renewAt) this.#keep(data)
    }
  }

  get isSignedIn() { return this.#state !== null }
  get userID() { return this.#state?.user_id }
  get accessToken() { return this.#state?.access_token }
  get refreshToken() { return this.#state?.refresh_token }

  /// Milliseconds until the access token is best renewed.
  get untilRenewal() { return this.#state.renewAt - Date.now() }

  /// Keeps the tokens of a sign-in, or of a renewal.
  take(tokens, isRenewal = false) {
    const { access_token, refresh_token, user_id } = tokens
    // By this clock and the token's length, since the server's clock may be another.
    const renewAt = Date.now() + tokens.expires_in * 800
    this.#keep({ access_token, refresh_token, user_id, renewAt, family: isRenewal ? this.#state.family : uuid() })
    if (isRenewal) this.#copies.postMessage(this.#state)
  }

  clear() {
    this.#state = null
    sessionStorage.removeItem(key)
  }

  #keep(state) {
    this.#state = state
    sessionStorage.setItem(key, JSON.stringify(state))
  }
}
