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

    /// The conversations of which an acknowledgement may include messages.
    enum Scope: Equatable {
        case some([ID])

        /// All conversations of the user, with their number, or nil if it is not known.
        case all(count: Int?)
    }

    /// A row of a report: what was acknowledged of a conversation, or of all of the user's.
    struct Row: Equatable {
        let acknowledgement: Acknowledgement
        let conversation: ID?
    }

    /// The most users without a subscription. Further acknowledgements are dropped: later ones include them.
    static let maxUsers = 10_000

    /// The most transactions in progress of a snapshot, which a client can make as large as a request.
    static let maxInProgress = 1_024

    /// The most clients whose acknowledgements become rows at a time.
    static let maxClientsAtOnce = 500

    /// The most conversations of a report. One user may have more.
    static let maxConversations = 2_000

    /// The most bytes of snapshots in a report.
    static let maxReportBytes = 256 << 10

    /// The number of failures after which the rows of a report are dropped.
    static let maxFailures = 5

    private var pending: [Client: Acknowledgement] = [:]
    private var userCount = 0

    /// The rows of the next reports, each of one conversation.
    private var rows: [Row] = []

    /// The acknowledgements of all conversations that are reported next, one of each user: the user's other devices, and
    /// later acknowledgements, say the same or more. They delay no rows, since they may take long.
    private var complete: [ID: (acknowledgement: Acknowledgement, count: Int)] = [:]

    /// The users of `complete`, in turn.
    private var completeUsers: [ID] = []
    private var failureCount = 0

    /// True if the last report has failed.
    private var hasFailed = false

    /// True if there is nothing to report.
    var isEmpty: Bool { pending.isEmpty && rows.isEmpty && complete.isEmpty }

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

    /// Adds an acknowledgement to the next reports.
    mutating func add(_ acknowledgement: Acknowledgement, of scope: Scope) {
        switch scope {
        case .some(let conversations):
            rows += conversations.map { Row(acknowledgement: acknowledgement, conversation: $0) }
        case .all(let count):
            let user = acknowledgement.user
            if let last = complete[user]?.acknowledgement {
                if last.epoch == acknowledgement.epoch, last.snapshot.covers(acknowledgement.snapshot) { return }
            } else {
                completeUsers.append(user)
            }
            complete[user] = (acknowledgement, count ?? Self.maxConversations)
        }
    }

    /// Takes the rows of the next report, each of one conversation.
    mutating func takeReport() -> [Row] {
        var (bytes, count) = (0, 0)
        for row in rows.prefix(Self.maxConversations) {
            let isAnother = count == 0 || row.acknowledgement != rows[count - 1].acknowledgement
            if isAnother { bytes += row.acknowledgement.snapshot.text.utf8.count }
            guard count == 0 || bytes <= Self.maxReportBytes else { break }
            count += 1
        }
        defer { rows.removeFirst(count) }
        return Array(rows.prefix(count))
    }

    /// Takes the rows of the next report of users with all their conversations.
    mutating func takeCompleteReport() -> [Row] {
        var (taken, conversations, bytes): ([Row], Int, Int) = ([], 0, 0)
        for user in completeUsers {
            guard let (acknowledgement, count) = complete[user] else { break }
            conversations += max(1, count)
            bytes += acknowledgement.snapshot.text.utf8.count
            guard taken.isEmpty || conversations <= Self.maxConversations && bytes <= Self.maxReportBytes else { break }
            taken.append(Row(acknowledgement: acknowledgement, conversation: nil))
            complete[user] = nil
        }
        completeUsers.removeFirst(taken.count)
        return taken
    }

    /// Records that a report has succeeded.
    ///
    /// - Parameter unsettled: the rows to report again.
    mutating func reportSucceeded(unsettled: [Row]) {
        failureCount = 0
        hasFailed = false
        putBack(unsettled)
    }

    /// Records that a report has failed. Its rows are reported again, unless they have failed repeatedly.
    ///
    /// - Returns: true if the report before has succeeded.
    @discardableResult
    mutating func reportFailed(_ report: [Row]) -> Bool {
        defer { hasFailed = true }
        failureCount += 1
        if failureCount < Self.maxFailures { putBack(report) } else { failureCount = 0 }
        return !hasFailed
    }

    /// Adds rows that have been taken, unless a newer acknowledgement includes them.
    private mutating func putBack(_ taken: [Row]) {
        for row in taken {
            if row.conversation != nil {
                rows.append(row)
            } else if complete[row.acknowledgement.user] == nil {
                add(row.acknowledgement, of: .all(count: nil))
            }
        }
    }
}
