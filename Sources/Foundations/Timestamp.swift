package import FoundationEssentials

/// The protocol's format of times: RFC 3339 in UTC with microseconds.
package enum Timestamp {
    /// Returns the text of a time.
    package static func text(_ date: Date) -> String {
        text(microseconds: Int64(exactly: (date.timeIntervalSince1970 * 1_000_000).rounded(.down)) ?? 0)
    }

    /// Returns the text of the time this many microseconds after 1970.
    package static func text(microseconds: Int64) -> String {
        let seconds = microseconds / 1_000_000
        let fraction = String(microseconds % 1_000_000)
        let whole = Date(timeIntervalSince1970: Double(seconds)).formatted(.iso8601)
        return whole.dropLast() + "." + String(repeating: "0", count: 6 - fraction.count) + fraction + "Z"
    }
}
