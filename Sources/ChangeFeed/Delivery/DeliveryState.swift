import Foundations

/// The acknowledgements of a node's clients that are not reported yet. It has no clock and no I/O.
///
/// Each live subscription has at most one, its newest, and each user at most one of requests without pushes. So its size
/// is bounded by the connections and by ``maxUsers``.
struct DeliveryState {
    /// A client that acknowledges.
    enum Client: Hashable {
        case subscription(Feed.SubscriptionID)

        /// A client of the user that gets no pushes, or none yet.
        case user(ID)
    }

    /// The position up to which a client has received everything.
    struct Acknowledgement: Equatable {
        let user: ID
        let epoch: String
        let snapshot: Snapshot
    }

    /// A row of a report: what was acknowledged of a conversation, or of all of the user's.
    struct Row: Equatable {
        let acknowledgement: Acknowledgement
        let conversation: ID?

        /// The cost of a row in those of one conversation.
        var cost: Int { conversation == nil ? 10 : 1 }
    }

    /// The most users without a subscription. Further acknowledgements are dropped: later ones include them.
    static let maxUsers = 10_000

    /// The most transactions in progress of a snapshot, which a client can make as large as a request.
    static let maxInProgress = 1_024

    /// The most clients whose acknowledgements become rows at a time.
    static let maxClientsAtOnce = 500

    /// The largest cost of a report.
    static let maxReportCost = 2_000

    /// The most bytes of snapshots in a report.
    static let maxReportBytes = 256 << 10

    /// The number of failures after which the rows of a report are dropped.
    static let maxFailures = 5

    private var pending: [Client: Acknowledgement] = [:]
    private var userCount = 0

    /// The rows of the next reports.
    private var rows: [Row] = []
    private var failureCount = 0

    /// True if the last report has failed.
    private var hasFailed = false

    /// True if there is nothing to report.
    var isEmpty: Bool { pending.isEmpty && rows.isEmpty }

    /// Records an acknowledgement, unless a newer one is pending, or its snapshot is too large.
    mutating func acknowledge(_ acknowledgement: Acknowledgement, by client: Client) {
        guard acknowledgement.snapshot.inProgress.count <= Self.maxInProgress else { return }
        if let last = pending[client] {
            if last.epoch == acknowledgement.epoch, last.snapshot.covers(acknowledgement.snapshot) { return }
        } else if case .user = client {
            guard userCount < Self.maxUsers else { return }
            userCount += 1
        }
        pending[client] = acknowledgement
    }

    /// Takes the acknowledgements that become rows next: none while there are rows.
    mutating func takeClients() -> [(client: Client, acknowledgement: Acknowledgement)] {
        guard rows.isEmpty else { return [] }
        let taken = pending.prefix(Self.maxClientsAtOnce).map { (client: $0.key, acknowledgement: $0.value) }
        for (client, _) in taken {
            pending[client] = nil
            if case .user = client { userCount -= 1 }
        }
        return taken
    }

    /// Adds rows: the conversations of an acknowledgement, or nil for all.
    mutating func add(_ acknowledgement: Acknowledgement, of conversations: [ID]?) {
        if let conversations {
            rows += conversations.map { Row(acknowledgement: acknowledgement, conversation: $0) }
        } else {
            rows.append(Row(acknowledgement: acknowledgement, conversation: nil))
        }
    }

    /// Takes the rows of the next report.
    mutating func takeReport() -> [Row] {
        var (cost, bytes, count) = (0, 0, 0)
        for row in rows {
            cost += row.cost
            let isAnother = count == 0 || row.acknowledgement != rows[count - 1].acknowledgement
            if isAnother { bytes += row.acknowledgement.snapshot.text.utf8.count }
            guard count == 0 || cost <= Self.maxReportCost && bytes <= Self.maxReportBytes else { break }
            count += 1
        }
        defer { rows.removeFirst(count) }
        return Array(rows.prefix(count))
    }

    /// Records that a report has succeeded.
    ///
    /// - Parameter unsettled: the rows to report again.
    mutating func reportSucceeded(unsettled: [Row]) {
        failureCount = 0
        hasFailed = false
        rows += unsettled
    }

    /// Records that a report has failed. Its rows are reported again, unless they have failed repeatedly.
    ///
    /// - Returns: true if the report before has succeeded.
    @discardableResult
    mutating func reportFailed(_ report: [Row]) -> Bool {
        defer { hasFailed = true }
        failureCount += 1
        if failureCount < Self.maxFailures { rows = report + rows } else { failureCount = 0 }
        return !hasFailed
    }
}
