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

    /// Parses a snapshot. Nil for text that PostgreSQL does not write: its numbers have 63 bits and no leading zeros, and
    /// the low 32 bits of a bound are never 0, which is no transaction in any epoch.
    package init?(_ text: String) {
        var reader = NumberReader(text)
        guard let xmin = reader.next(), reader.skip(":"), let xmax = reader.next(), reader.skip(":"), xmin <= xmax,
            UInt32(truncatingIfNeeded: xmin) != 0, UInt32(truncatingIfNeeded: xmax) != 0
        else { return nil }
        var inProgress: [UInt64] = []
        while !reader.isAtEnd {
            guard inProgress.isEmpty || reader.skip(","), let xid = reader.next(), xid >= xmin, xid < xmax,
                inProgress.last.map({ $0 < xid }) ?? true
            else { return nil }
            inProgress.append(xid)
        }
        self.xmax = xmax
        self.inProgress = inProgress
        self.text = text
    }

    /// Reads numbers from a text byte by byte, since a client can send one as long as a request.
    private struct NumberReader {
        private var bytes: ArraySlice<UInt8>

        init(_ text: String) { bytes = Array(text.utf8)[...] }

        var isAtEnd: Bool { bytes.isEmpty }

        /// Takes the next character if it is this one, and returns whether it is.
        mutating func skip(_ character: Unicode.Scalar) -> Bool {
            guard bytes.first == UInt8(ascii: character) else { return false }
            bytes.removeFirst()
            return true
        }

        /// Takes the digits before the next other character. Nil if they are no number that PostgreSQL writes.
        mutating func next() -> UInt64? {
            let digits = bytes.prefix { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
            guard !digits.isEmpty, digits.count == 1 || digits.first != UInt8(ascii: "0"), digits.count <= 19 else {
                return nil
            }
            bytes = bytes[digits.endIndex...]
            let number = digits.reduce(UInt64(0)) { $0 * 10 + UInt64($1 - UInt8(ascii: "0")) }
            return number > UInt64(Int64.max) ? nil : number
        }
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
