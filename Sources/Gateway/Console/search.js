// Finding people by name or username while somebody types.

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
    if (!this.isSearching) this.results = []
    else this.#timer = setTimeout(() => this.#ask(query), restMilliseconds)
  }

  async #ask(query) {
    try {
      const { profiles } = await this.#app.client.call('profiles.search', { query: [...query].slice(0, 50).join('') })
      if (this.#asked !== query) return
      this.#app.directory.take(profiles)
      this.results = profiles.map((profile) => profile.id)
    } catch (error) {
      if (this.#asked !== query) return
      this.results = []
      this.problem = sentence(error, null, 'People are found when the connection is back.')
    }
    this.isSearching = false
    this.#onChange()
  }
}
