// The conversation that opens after a one-click sign-in, so that two windows with a demo account each are in the same
// conversation without another click.

export class DemoConversation {
  #app
  /// The demo account of this window, and the one that signed in last in another window of this browser.
  #userID = null
  #neighbour = null
  #partner = null
  #isFollowing = false
  #windows = new BroadcastChannel('postline.demo')

  constructor(app) {
    this.#app = app
    // From the first key or click on, the user decides what is open.
    for (const kind of ['keydown', 'pointerdown']) {
      addEventListener(kind, () => { this.#isFollowing = false }, { capture: true })
    }
    this.#windows.onmessage = ({ data: { userID, isAnswer } }) => {
      if (!this.#userID || this.#userID !== app.directory.userID || this.#userID === userID) return
      this.#neighbour = userID
      if (!isAnswer) this.#windows.postMessage({ userID: this.#userID, isAnswer: true })
      this.update()
    }
  }

  /// Signs in with a demo account and opens a conversation with another one.
  async signIn({ user_id: userID, email, password }) {
    await this.#app.client.signIn({ email, password })
    this.#userID = userID
    this.#neighbour = this.#partner = null
    this.#isFollowing = true
    this.#windows.postMessage({ userID })
  }

  /// Opens the conversation with the demo account of another window, with one that is online, or with the first one.
  async update() {
    const { client, directory, start } = this.#app
    if (!this.#isFollowing || client.state.name !== 'live') return
    const others = start.people.map((person) => person.user_id).filter((id) => id !== this.#userID)
    const online = [this.#partner, ...others].find((id) => id && directory.isOnline(id))
    const partner = this.#neighbour ?? online ?? this.#partner ?? others[0]
    if (!partner || partner === this.#partner) return
    this.#partner = partner
    try {
      await this.#app.openWith(partner)
    } catch {
      // The list is shown, from which the user can open a conversation.
    }
  }
}
