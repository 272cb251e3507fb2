import Foundations

/// Selects the clients whose texts form the next batch: the first in the queue, up to a number of texts.
///
/// A client is skipped if one of its conversations is in flight or the batch has no room for all of its texts. Later
/// clients do not overtake a skipped one in any of its conversations.
struct SendSelection {
    /// The number of texts selected.
    private(set) var count = 0
    private let maxCount: Int

    /// The conversations in flight and those of skipped clients.
    private var blockedConversations: Set<ID>

    /// - Parameter inFlight: the conversations of the texts in flight.
    init(maxCount: Int, inFlight: Set<ID>) {
        self.maxCount = maxCount
        blockedConversations = inFlight
    }

    /// Adds the texts of one client, or skips the client. Call it for each client in the order of the queue.
    ///
    /// - Returns: true if the texts were added.
    mutating func add(_ texts: [OutgoingText]) -> Bool {
        guard count + texts.count <= maxCount,
            !texts.contains(where: { blockedConversations.contains($0.conversation) })
        else {
            for text in texts { blockedConversations.insert(text.conversation) }
            return false
        }
        count += texts.count
        return true
    }
}
