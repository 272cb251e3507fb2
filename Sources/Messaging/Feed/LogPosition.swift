/// How far PostgreSQL's write-ahead log is: its `pg_lsn`.
struct LogPosition: Sendable, Comparable {
    private let bytes: UInt64

    /// Nil for what is none. PostgreSQL writes the two halves of the number in hexadecimal: `16/B374D848`.
    init?(_ text: String) {
        let halves = text.split(separator: "/", omittingEmptySubsequences: false).map { UInt32($0, radix: 16) }
        guard halves.count == 2, let high = halves[0], let low = halves[1] else { return nil }
        bytes = UInt64(high) << 32 | UInt64(low)
    }

    static func < (one: LogPosition, other: LogPosition) -> Bool { one.bytes < other.bytes }
}
