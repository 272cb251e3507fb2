// The last lines that went in and out, with their secrets masked. What is not kept here is not kept at all.

const secrets = /(^|_)(token|password)$/
const mostLines = 500
/// Longer lines are truncated, so that 500 of them are bounded too.
const mostCharacters = 64_000

export class Lines {
  #next = 1
  entries = []
  isPaused = false
  onChange = () => {}

  /// Takes a line of the client's option `onLine`.
  take(direction, line, { size, method, duration }) {
    if (this.isPaused) return
    const whole = JSON.stringify(line, (name, value) => {
      return secrets.test(name) && typeof value === 'string' ? '••••••' : value
    }, 2)
    const rest = whole.length - mostCharacters
    this.#add({
      direction,
      kind: line.method ? (line.id === undefined ? 'push' : 'request') : (line.error ? 'error' : 'answer'),
      method: line.method ?? method ?? '',
      code: line.error?.data?.code,
      latency: duration,
      size,
      text: rest > 0 ? `${whole.slice(0, mostCharacters)}\n… ${rest} more` : whole,
    })
  }

  /// Something that is no line but belongs between them, such as the end of a connection.
  note(text) {
    if (!this.isPaused) this.#add({ direction: 'note', kind: 'note', method: text, size: 0, text: '' })
  }

  #add(entry) {
    this.entries.push({ ...entry, id: this.#next++, at: Date.now() })
    if (this.entries.length > mostLines) this.entries.shift()
    this.onChange()
  }

  clear() {
    this.entries = []
    this.onChange()
  }
}
