/// The id of a stream's event, which clients return as `Last-Event-ID`: a cursor, followed in a ticket's stream by `~` and
/// the resumption key. Cursors contain no `~`.
struct StreamEventID: Sendable, CustomStringConvertible {
    let cursor: String

    /// The key that reopens a ticket's stream; nil if the id has none.
    let resumption: String?

    init(cursor: String, resumption: String?) {
        self.cursor = cursor
        self.resumption = resumption
    }

    /// Parses an event id, or a cursor alone.
    init(_ text: String) {
        let parts = text.split(separator: Self.separator)
        cursor = String(text.prefix { $0 != Self.separator })
        resumption = parts.count == 2 ? String(parts[1]) : nil
    }

    private static let separator: Character = "~"

    var description: String { resumption.map { "\(cursor)\(Self.separator)\($0)" } ?? cursor }
}
