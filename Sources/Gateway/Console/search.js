// Finding people by name or username, and messages by their words, while somebody types.

import { sentence } from './errors.js'

/// Shorter than this a person would not notice; longer than this the server's five a second are kept.
const restMilliseconds = 250

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
    this.isSearching = [...query].length >= 2
    if (!this.isSearching) {
      this.results = []
      this.messages = []
    }
    else this.#timer = setTimeout(() => this.#ask(query), restMilliseconds)
  }

  async #ask(query) {
    const { client, directory } = this.#app
    try {
      const [{ profiles }, { messages }] = await Promise.all([
        client.call('profiles.search', { query: [...query].slice(0, 50).join('') }),
        client.searchMessages([...query].slice(0, 100).join('')),
      ])
      if (this.#asked !== query) return
      directory.take(profiles)
      directory.take(messages.map(({ sender }) => sender))
      this.results = profiles.map((profile) => profile.id)
      this.messages = messages.filter(({ conversation_id: id }) => client.conversation(id))
    } catch (error) {
      if (this.#asked !== query) return
      this.results = []
      this.messages = []
      this.problem = sentence(error, null, 'People and messages are found when the connection is back.')
    }
    this.query = query
    this.isSearching = false
    this.#onChange()
  }
}
