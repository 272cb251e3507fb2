import Crypto
import Foundations

/// A client's position: opaque to the client, and valid on every node of the service (`docs/protocol.md`, section 4).
///
/// It is text with fields between slashes: `1/epoch/snapshot/checksum`, or `1/epoch/since/until/position/checksum`
/// within a view of several pages. The checksum detects a cursor that was truncated or changed.
package struct Cursor: Sendable, Equatable {
    /// The history of the database that the cursor belongs to: `app.epoch()`.
    package let epoch: String

    package let place: Place

    package enum Place: Sendable, Equatable {
        /// The client has received everything that this snapshot sees.
        case at(Snapshot)

        /// Within a view of several pages: everything that `until` sees and `since` does not (nil: nothing is
        /// excluded), up to `position`.
        case within(since: Snapshot?, until: Snapshot, position: String)

        /// The snapshots of the changes that the client has received or is receiving.
        package var snapshots: [Snapshot] {
            switch self {
            case .at(let snapshot): [snapshot]
            case .within(let since, let until, _): (since.map { [$0] } ?? []) + [until]
            }
        }
    }

    package init(epoch: String, place: Place) {
        self.epoch = epoch
        self.place = place
    }

    /// Parses a cursor. Nil if the server did not make it or it was changed: it cannot be continued.
    package init?(_ text: String) {
        // More fields than a cursor has are not split.
        let fields = text.utf8.split(separator: UInt8(ascii: "/"), maxSplits: 6, omittingEmptySubsequences: false)
            .map { String(Substring($0)) }
        guard fields.count > 2, fields[0] == Self.version,
            Self.checksum(of: fields.dropLast().joined(separator: "/")) == fields.last
        else { return nil }
        epoch = fields[1]
        switch fields.count {
        case 4:
            guard let snapshot = Snapshot(fields[2]) else { return nil }
            place = .at(snapshot)
        case 6:
            let since = Snapshot(fields[2])
            guard since != nil || fields[2].isEmpty, let until = Snapshot(fields[3]) else { return nil }
            place = .within(since: since, until: until, position: fields[4])
        default: return nil
        }
    }

    package var text: String {
        let fields =
            switch place {
            case .at(let snapshot): [Self.version, epoch, snapshot.text]
            case .within(let since, let until, let position):
                [Self.version, epoch, since?.text ?? "", until.text, position]
            }
        let body = fields.joined(separator: "/")
        return "\(body)/\(Self.checksum(of: body))"
    }

    /// Returns true if the cursor is fewer than 10,000 transactions ahead of a snapshot of the same epoch.
    package func isJustAhead(of snapshot: Snapshot, _ epoch: String) -> Bool {
        let xmax = place.snapshots.map(\.xmax).max() ?? 0
        return self.epoch == epoch && xmax > snapshot.xmax && xmax - snapshot.xmax < 10_000
    }

    private static let version = "1"

    /// Detects accidents and tampering. It has no secret, because a cursor gives no rights: row-level security applies
    /// to everything that is read with it.
    private static func checksum(of text: String) -> String {
        SHA256.hash(data: Array(text.utf8)).prefix(6).hexadecimal
    }
}
