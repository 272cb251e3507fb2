/// A position in PostgreSQL's write-ahead log: a `pg_lsn`.
package struct LogPosition: Sendable, Comparable {
    private let bytes: UInt64

    /// Parses a position. PostgreSQL prints its two halves in hexadecimal: `16/B374D848`. Nil for other text.
    init?(_ text: String) {
        let halves = text.split(separator: "/", omittingEmptySubsequences: false).map { UInt32($0, radix: 16) }
        guard halves.count == 2, let high = halves[0], let low = halves[1] else { return nil }
        bytes = UInt64(high) << 32 | UInt64(low)
    }

    package static func < (one: LogPosition, other: LogPosition) -> Bool { one.bytes < other.bytes }
}
