internal import Crypto

/// How far a client is: opaque to it, and good on every node of the service (`docs/protocol.md`, section 4).
///
/// It is text of fields between slashes, the last a checksum, so that one which was cut or changed is told apart:
/// `1/epoch/snapshot/checksum`, and within a view of several pages `1/epoch/since/until/position/checksum`.
struct Cursor: Sendable, Equatable {
    /// Which history of which database it belongs to: `app.epoch()`.
    let epoch: String

    let place: Place

    enum Place: Sendable, Equatable {
        /// All that this snapshot sees has reached the client.
        case at(Snapshot)

        /// In the middle of a view: what `since` (nil: nothing) does not see and `until` sees, up to `position`.
        case within(since: Snapshot?, until: Snapshot, position: String)

        /// What the client has seen, and is to see.
        var snapshots: [Snapshot] {
            switch self {
            case .at(let snapshot): [snapshot]
            case .within(let since, let until, _): (since.map { [$0] } ?? []) + [until]
            }
        }
    }

    init(epoch: String, place: Place) {
        self.epoch = epoch
        self.place = place
    }

    /// Nil for what no server made, or somebody has changed: such a cursor cannot be continued.
    init?(_ text: String) {
        let fields = text.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
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

    var text: String {
        let fields =
            switch place {
            case .at(let snapshot): [Self.version, epoch, snapshot.text]
            case .within(let since, let until, let position):
                [Self.version, epoch, since?.text ?? "", until.text, position]
            }
        let body = fields.joined(separator: "/")
        return "\(body)/\(Self.checksum(of: body))"
    }

    /// Whether it has seen a little more than a snapshot of its epoch sees.
    func isJustAhead(of snapshot: Snapshot, _ epoch: String) -> Bool {
        let xmax = place.snapshots.map(\.xmax).max() ?? 0
        return self.epoch == epoch && xmax > snapshot.xmax && xmax - snapshot.xmax < 10_000
    }

    private static let version = "1"

    /// Tells accidents and tampering; it is no secret, since a cursor gives no rights: what it brings is read under
    /// row-level security like everything else.
    private static func checksum(of text: String) -> String {
        SHA256.hash(data: Array(text.utf8)).prefix(6).hexadecimal
    }
}
