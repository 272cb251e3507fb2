// Finding people by name or username, and messages by their words, while somebody types.

import { sentence } from './errors.js'

/// Shorter than this a person would not notice; longer than this the server's five a second are kept.
const restMilliseconds = 250
/// Messages are searched when the typing rests longer.
const messagesRestMilliseconds = 500

export class Search {
  #app
  #onChange
  #timer
  #asked = ''
  /// The ids of those found; the directory has their profiles.
  results = []
  /// The messages found, the newest first, and the text that they were found by.
  messages = []
  query = ''
  isSearching = false
  problem = null

  constructor(app, onChange) {
    this.#app = app
    this.#onChange = onChange
  }

  /// Asks when the typing rests; the answer of an older question is not shown.
  find(text) {
    const query = text.trim()
    clearTimeout(this.#timer)
    this.#asked = query
    this.problem = null
    this.messages = []
    this.isSearching = [...query].length >= 2
    if (!this.isSearching) this.results = []
    else this.#timer = setTimeout(() => this.#ask(query), restMilliseconds)
  }

  async #ask(query) {
    const { client, directory } = this.#app
    let hasPeople = false
    try {
      const { profiles } = await client.call('profiles.search', { query: [...query].slice(0, 50).join('') })
      if (this.#asked !== query) return
      directory.take(profiles)
      this.results = profiles.map((profile) => profile.id)
      hasPeople = true
      this.#onChange()
      // Both count as searches.
      await new Promise((resolve) => setTimeout(resolve, messagesRestMilliseconds))
      if (this.#asked !== query) return
      const { messages } = await client.searchMessages([...query].slice(0, 100).join(''))
      if (this.#asked !== query) return
      directory.take(messages.map(({ sender }) => sender))
      this.messages = messages.filter(({ conversation_id: id }) => client.conversation(id))
    } catch (error) {
      if (this.#asked !== query) return
      if (!hasPeople) this.results = []
      this.problem = sentence(error, null, 'People and messages are found when the connection is back.')
    }
    this.query = query
    this.isSearching = false
    this.#onChange()
  }
}
