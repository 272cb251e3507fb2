/// The id of an event of a stream, which a client sends as `Last-Event-ID`: a cursor and, in a ticket's stream, `~` and
/// the key that resumes the stream. No cursor has a `~`.
struct StreamEventID: Sendable, CustomStringConvertible {
    let cursor: String

    /// The key that resumes the stream; nil if the id has none.
    let resumption: String?

    init(cursor: String, resumption: String?) {
        self.cursor = cursor
        self.resumption = resumption
    }

    /// Reads an id, or a cursor alone.
    init(_ text: String) {
        let parts = text.split(separator: Self.separator)
        cursor = String(text.prefix { $0 != Self.separator })
        resumption = parts.count == 2 ? String(parts[1]) : nil
    }

    private static let separator: Character = "~"

    var description: String { resumption.map { "\(cursor)\(Self.separator)\($0)" } ?? cursor }
}
