/// Which transactions are seen: PostgreSQL's `pg_snapshot`.
///
/// Snapshots of one primary server are totally ordered: a later one sees all that an earlier one saw.
/// Source: PostgreSQL's manual, section 9.27.8 "Transaction ID and Snapshot Information Functions".
struct Snapshot: Sendable, Equatable {
    /// Every transaction from here on is not seen.
    let xmax: UInt64

    /// Those before `xmax` that were still under way, ascending; they are not seen either.
    let inProgress: [UInt64]

    /// As PostgreSQL writes it: `xmin:xmax:xip,xip,…`.
    let text: String

    /// Nil for what is no snapshot.
    init?(_ text: String) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 3, let xmin = UInt64(parts[0]), let xmax = UInt64(parts[1]), xmin > 0, xmin <= xmax else {
            return nil
        }
        var inProgress: [UInt64] = []
        for part in parts[2].split(separator: ",", omittingEmptySubsequences: !parts[2].contains(",")) {
            guard let xid = UInt64(part), xid >= xmin, xid < xmax, inProgress.last.map({ $0 < xid }) ?? true else {
                return nil
            }
            inProgress.append(xid)
        }
        self.xmax = xmax
        self.inProgress = inProgress
        self.text = text
    }

    /// Whether what that transaction did is seen, if it was committed.
    func sees(_ transaction: UInt64) -> Bool {
        guard transaction < xmax else { return false }
        var (low, high) = (0, inProgress.count)
        while low < high {
            let middle = (low + high) / 2
            if inProgress[middle] < transaction { low = middle + 1 } else { high = middle }
        }
        return low == inProgress.count || inProgress[low] != transaction
    }

    /// Whether it sees all that the other sees.
    func covers(_ other: Snapshot) -> Bool {
        guard xmax >= other.xmax else { return false }
        return inProgress.allSatisfy { !other.sees($0) }
    }
}
