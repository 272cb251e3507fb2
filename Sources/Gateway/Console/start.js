// Start-up: decides which page the console shows from the inputs that have arrived, whatever their order.

/// The time that the sign-in page waits for the configuration before it appears without the demo accounts.
const configMilliseconds = 2000

export class Start {
  #connection = 'loading'
  #config = null
  #isConfigLate = false
  #isLoaded = false
  #features = []
  #contact = null
  /// Called after each input, to draw the page again.
  onChange = () => {}

  /// Takes the inputs that have arrived.
  ///
  /// - `connection`: the name of the client's state.
  /// - `config`: the console's configuration; an empty object if it cannot be fetched.
  /// - `isConfigLate`: whether the sign-in page has waited long enough for the configuration.
  /// - `isLoaded`: whether the first synchronization is complete.
  /// - `features`: the features that the server names.
  /// - `contact`: the address of the operator, or null.
  ///
  /// An input that changes nothing here, such as the origins of pictures, is `{}`: the page is drawn again.
  receive({ connection, config, isConfigLate, isLoaded, features, contact }) {
    this.#connection = connection ?? this.#connection
    this.#config = config ?? this.#config
    this.#isConfigLate = isConfigLate ?? this.#isConfigLate
    this.#isLoaded = isLoaded ?? this.#isLoaded
    this.#features = features ?? this.#features
    this.#contact = contact ?? this.#contact
    this.onChange()
  }

  /// The page's state: `loading`, `signed_out`, `signed_in` or `offline`.
  get state() {
    if (this.#connection === 'signed_out') return this.#config || this.#isConfigLate ? 'signed_out' : 'loading'
    if (this.#connection === 'offline') return 'offline'
    return this.#isLoaded ? 'signed_in' : 'loading'
  }

  /// The demo accounts; none outside the dev world.
  get people() { return this.#config?.people ?? [] }

  /// True if the server sends mail.
  get hasMail() { return this.#features.includes('mail') }

  /// The address of the operator, or null.
  get contact() { return this.#contact }

  /// Fetches the configuration and the server's features. Each answer is an input of its own.
  load() {
    fetchJSON('/console/config.json').then((config) => this.receive({ config: config ?? {} }))
    fetchJSON('/v1/server.info', { method: 'POST' }).then((info) => {
      this.receive({ features: info?.features, contact: info?.contact })
    })
    setTimeout(() => this.receive({ isConfigLate: true }), configMilliseconds)
  }
}

/// Returns the answer as JSON, or null if it cannot be fetched.
async function fetchJSON(path, options) {
  try {
    const answer = await fetch(path, options)
    return answer.ok ? await answer.json() : null
  } catch {
    return null
  }
}
