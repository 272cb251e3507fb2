/// The set of transactions that a query sees: PostgreSQL's `pg_snapshot`.
///
/// Snapshots of one primary are totally ordered: a later one sees everything that an earlier one saw.
/// Source: PostgreSQL's manual, section 9.27.8 "Transaction ID and Snapshot Information Functions".
package struct Snapshot: Sendable, Equatable {
    /// The first transaction that is not seen, with all after it.
    package let xmax: UInt64

    /// The transactions before `xmax` that were in progress, ascending. They are not seen either.
    package let inProgress: [UInt64]

    /// The text form of PostgreSQL: `xmin:xmax:xip,xip,…`.
    package let text: String

    /// Parses a snapshot. Nil for text that PostgreSQL rejects too: its numbers have 63 bits, and the low 32 bits of a
    /// bound are never 0, which is no transaction in any epoch.
    package init?(_ text: String) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 3, let xmin = Self.number(parts[0]), let xmax = Self.number(parts[1]), xmin <= xmax,
            UInt32(truncatingIfNeeded: xmin) != 0, UInt32(truncatingIfNeeded: xmax) != 0
        else { return nil }
        var inProgress: [UInt64] = []
        for part in parts[2].split(separator: ",", omittingEmptySubsequences: !parts[2].contains(",")) {
            guard let xid = Self.number(part), xid >= xmin, xid < xmax, inProgress.last.map({ $0 < xid }) ?? true else {
                return nil
            }
            inProgress.append(xid)
        }
        self.xmax = xmax
        self.inProgress = inProgress
        self.text = text
    }

    /// Accepts only digits: `Int64` would accept `+7` too.
    private static func number(_ text: Substring) -> UInt64? {
        guard let number = Int64(text), text.first != "+" else { return nil }
        return UInt64(exactly: number)
    }

    /// Returns true if the snapshot sees that transaction, provided that it committed.
    package func sees(_ transaction: UInt64) -> Bool {
        guard transaction < xmax else { return false }
        var (low, high) = (0, inProgress.count)
        while low < high {
            let middle = (low + high) / 2
            if inProgress[middle] < transaction { low = middle + 1 } else { high = middle }
        }
        return low == inProgress.count || inProgress[low] != transaction
    }

    /// Returns true if this snapshot sees everything that the other sees.
    func covers(_ other: Snapshot) -> Bool {
        guard xmax >= other.xmax else { return false }
        return inProgress.allSatisfy { !other.sees($0) }
    }

    /// Returns true if the other one is the same or later, if both are of one primary. Unlike ``covers(_:)`` it compares
    /// the ends alone, however many transactions were in progress.
    func isAtMost(_ other: Snapshot) -> Bool {
        (xmax, -inProgress.count) <= (other.xmax, -other.inProgress.count)
    }

    /// Returns a snapshot that sees everything that either of the two sees. A standby may show a commit before its
    /// primary does.
    package func union(_ other: Snapshot) -> Snapshot {
        if covers(other) { return self }
        let (shorter, longer) = xmax < other.xmax ? (self, other) : (other, self)
        return Snapshot(xmax: longer.xmax, inProgress: longer.inProgress.filter { !shorter.sees($0) })
    }

    private init(xmax: UInt64, inProgress: [UInt64]) {
        self.xmax = xmax
        self.inProgress = inProgress
        text = "\(inProgress.first ?? xmax):\(xmax):\(inProgress.map(String.init).joined(separator: ","))"
    }
}
