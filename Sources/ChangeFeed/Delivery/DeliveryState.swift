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

        /// Returns true if the other one says the same or more.
        func isIncluded(in other: Acknowledgement) -> Bool {
            epoch == other.epoch && snapshot.isAtMost(other.snapshot)
        }
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

        /// The number of the user's conversations, for all of them, if it is known.
        var count: Int?
    }

    /// The acknowledgements of one user that are reported next.
    private struct Unreported {
        /// The newest acknowledgement of `conversations`: it says that a device has received all messages up to there,
        /// also those of which other devices have said less.
        var newest: Acknowledgement?
        var conversations: Set<ID> = []

        /// That of all conversations, with their number, or nil if it is not known.
        var complete: (acknowledgement: Acknowledgement, count: Int?)?

        var isEmpty: Bool { conversations.isEmpty && complete == nil }
    }

    /// The most users without a subscription. Further acknowledgements are dropped: later ones include them.
    static let maxUsers = 10_000

    /// The most transactions in progress of a snapshot, which a client can make as large as a request. So its text has
    /// at most 4 KiB.
    static let maxInProgress = 200

    /// The most clients whose acknowledgements become rows at a time.
    static let maxClientsAtOnce = 500

    /// The most conversations of a report. One user may have more.
    static let maxConversations = 2_000

    /// The most conversations of a user that wait. Beyond it all are reported.
    static let maxConversationsOfUser = 256

    /// The most bytes of snapshots in a report.
    static let maxReportBytes = 1 << 20

    /// The number of failures after which the rows of a report are dropped.
    static let maxFailures = 5

    private var pending: [Client: Acknowledgement] = [:]
    private var userCount = 0

    private var unreported: [ID: Unreported] = [:]

    /// The users with conversations to report, in turn, and those with all of theirs, which delay no others.
    private var users: [ID] = []
    private var completeUsers: [ID] = []

    /// The number of conversations that a user of unknown number is counted with. It follows the time of reports.
    private var assumedCount = minAssumedCount
    private static let minAssumedCount = 20
    private static let longReport = Duration.milliseconds(100)
    private var failureCount = 0

    /// True if the last report has failed.
    private var hasFailed = false

    /// True if there is nothing to report.
    var isEmpty: Bool { pending.isEmpty && unreported.isEmpty }

    /// Records an acknowledgement, unless a newer one is pending, or its snapshot is too large.
    mutating func acknowledge(_ acknowledgement: Acknowledgement, by client: Client) {
        guard acknowledgement.snapshot.inProgress.count <= Self.maxInProgress else { return }
        if let last = pending[client] {
            if acknowledgement.isIncluded(in: last) { return }
        } else if case .user = client {
            guard userCount < Self.maxUsers else { return }
            userCount += 1
        }
        pending[client] = acknowledgement
    }

    /// Takes the acknowledgements that are reported next.
    mutating func takeClients() -> [(client: Client, acknowledgement: Acknowledgement)] {
        guard unreported.count < 2 * Self.maxUsers else { return [] }
        let taken = pending.prefix(Self.maxClientsAtOnce).map { (client: $0.key, acknowledgement: $0.value) }
        for (client, _) in taken {
            pending[client] = nil
            if case .user = client { userCount -= 1 }
        }
        return taken
    }

    /// Adds an acknowledgement to the next reports.
    mutating func add(_ acknowledgement: Acknowledgement, of scope: Scope) {
        let user = acknowledgement.user
        var own = unreported[user] ?? Unreported()
        defer { unreported[user] = own.isEmpty ? nil : own }
        switch scope {
        case .some(let conversations):
            let isWaiting = !own.conversations.isEmpty
            if !isWaiting || own.newest.map(acknowledgement.isIncluded) != true { own.newest = acknowledgement }
            own.conversations.formUnion(conversations)
            if own.conversations.count > Self.maxConversationsOfUser, let newest = own.newest {
                if isWaiting { users.removeAll { $0 == user } }
                own.conversations = []
                addComplete(newest, count: nil, to: &own)
            } else if !isWaiting, !own.conversations.isEmpty {
                users.append(user)
            }
        case .all(let count):
            addComplete(acknowledgement, count: count, to: &own)
        }
    }

    private mutating func addComplete(_ acknowledgement: Acknowledgement, count: Int?, to own: inout Unreported) {
        if own.complete == nil { completeUsers.append(acknowledgement.user) }
        if let last = own.complete?.acknowledgement, acknowledgement.isIncluded(in: last) { return }
        own.complete = (acknowledgement, count)
    }

    /// Takes the rows of the next report, each of one conversation: of each user one, then of each another, and so on.
    /// The rows of a user stand together.
    mutating func takeReport() -> [Row] {
        var taken: [ID: [Row]] = [:]
        var (count, bytes) = (0, 0)
        while !users.isEmpty {
            var left: [ID] = []
            for (index, user) in users.enumerated() {
                guard let acknowledgement = unreported[user]?.newest,
                    let conversation = unreported[user]?.conversations.first
                else { continue }
                // The rows of a user share the snapshot.
                if taken[user] == nil { bytes += acknowledgement.snapshot.text.utf8.count }
                guard count == 0 || count < Self.maxConversations && bytes <= Self.maxReportBytes else {
                    users = users[index...] + left
                    return taken.values.flatMap(\.self)
                }
                count += 1
                taken[user, default: []].append(Row(acknowledgement: acknowledgement, conversation: conversation))
                unreported[user]?.conversations.remove(conversation)
                if unreported[user]?.conversations.isEmpty == false { left.append(user) } else { forgetIfEmpty(user) }
            }
            users = left
        }
        return taken.values.flatMap(\.self)
    }

    /// Takes the rows of the next report of users with all their conversations, in turn.
    mutating func takeCompleteReport() -> [Row] {
        var (rows, conversations, bytes): ([Row], Int, Int) = ([], 0, 0)
        for user in completeUsers {
            guard let (acknowledgement, count) = unreported[user]?.complete else { break }
            conversations += max(1, count ?? assumedCount)
            bytes += acknowledgement.snapshot.text.utf8.count
            guard rows.isEmpty || conversations <= Self.maxConversations && bytes <= Self.maxReportBytes else { break }
            rows.append(Row(acknowledgement: acknowledgement, conversation: nil, count: count))
            unreported[user]?.complete = nil
            forgetIfEmpty(user)
        }
        completeUsers.removeFirst(rows.count)
        return rows
    }

    private mutating func forgetIfEmpty(_ user: ID) {
        if unreported[user]?.isEmpty == true { unreported[user] = nil }
    }

    /// Records the time of a report of users with all their conversations, so that the next has fewer of those whose
    /// number is not known, or may have more.
    mutating func completeReportEnded(after duration: Duration) {
        assumedCount =
            duration > Self.longReport
            ? min(Self.maxConversations, assumedCount * 4) : max(Self.minAssumedCount, assumedCount / 2)
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

    /// Adds rows that have been taken, unless newer acknowledgements include them.
    private mutating func putBack(_ taken: [Row]) {
        for row in taken {
            add(row.acknowledgement, of: row.conversation.map { .some([$0]) } ?? .all(count: row.count))
        }
    }
}
