import Foundations

/// The conversations in which live subscribers were pushed messages that their clients have not acknowledged.
///
/// They are recorded only once a client has acknowledged a cursor: one that never does costs nothing. Messages of the
/// client's page, and pushes from before, are not recorded: until they are acknowledged, a cursor may include messages
/// of any conversation.
struct AcknowledgementTracker {
    typealias SubscriptionID = Fanout.SubscriptionID

    private struct Record {
        /// The fan-out's snapshot when the record began.
        let began: Snapshot

        /// True once the client has acknowledged everything from before the record.
        var isComplete: Bool

        /// The conversations, each with the snapshot of its latest push.
        var conversations: [ID: Snapshot] = [:]
    }

    private var records: [SubscriptionID: Record] = [:]

    /// Conversations that have too many members for delivered marks.
    private var largeConversations: Set<ID> = []

    /// The most conversations of a subscriber. Beyond it the record begins anew with the next acknowledgement.
    static let maxConversations = 64

    private static let maxLargeConversations = 10_000

    /// Records a message that these subscribers receive.
    ///
    /// - Parameter snapshot: the snapshot of the batch.
    mutating func record(_ fact: Change.Fact, for receivers: Set<SubscriptionID>, at snapshot: Snapshot) {
        guard !records.isEmpty, case .message(let conversation, _, _) = fact,
            !largeConversations.contains(conversation)
        else { return }
        for id in receivers {
            guard let count = records[id]?.conversations.count else { continue }
            if count < Self.maxConversations || records[id]?.conversations[conversation] != nil {
                records[id]?.conversations[conversation] = snapshot
            } else {
                records[id] = nil
            }
        }
    }

    /// Returns the conversations of which a snapshot that a live subscriber's client has acknowledged may include
    /// messages, or nil for all. Forgets those of which it includes all.
    ///
    /// - Parameter position: the snapshot of the last distributed batch.
    mutating func acknowledge(_ snapshot: Snapshot, by id: SubscriptionID, at position: Snapshot) -> [ID]? {
        guard let record = records[id] else {
            records[id] = Record(began: position, isComplete: snapshot.covers(position))
            return nil
        }
        guard snapshot.covers(record.began) else { return nil }
        records[id]?.isComplete = true
        records[id]?.conversations = record.conversations.filter { !snapshot.covers($0.value) }
        return record.isComplete ? Array(record.conversations.keys) : nil
    }

    mutating func remove(_ id: SubscriptionID) { records[id] = nil }

    /// Records conversations whose messages need no acknowledgement.
    mutating func recordLargeConversations(_ conversations: [ID]) {
        if largeConversations.count + conversations.count > Self.maxLargeConversations { forgetLargeConversations() }
        largeConversations.formUnion(conversations.prefix(Self.maxLargeConversations))
    }

    /// Forgets the large conversations, since members may have left.
    mutating func forgetLargeConversations() { largeConversations = [] }
}
