import Foundations

/// Selects the clients whose texts form the next batch: the first in the queue, up to a number of texts.
///
/// A client is skipped if one of its conversations is in flight or the batch has no room for all of its texts. Later
/// clients do not overtake a skipped one in any of its conversations. Large texts have less room than small ones, so
/// that many of them do not make small ones wait.
struct SendSelection {
    /// The number of texts selected.
    private(set) var count = 0
    private let maxCount: Int

    /// The bytes of the large texts selected.
    private var largeTextBytes = 0

    /// The most bytes of a small text.
    static let maxSmallTextBytes = 2_048

    /// The most bytes of the large texts of a batch, unless a single client has more.
    static let maxLargeTextBytes = 65_536

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
        let largeBytes = texts.lazy.map(\.byteCount).filter { $0 > Self.maxSmallTextBytes }.reduce(0, +)
        guard count + texts.count <= maxCount,
            largeBytes == 0 || largeTextBytes == 0 || largeTextBytes + largeBytes <= Self.maxLargeTextBytes,
            !texts.contains(where: { blockedConversations.contains($0.conversation) })
        else {
            for text in texts { blockedConversations.insert(text.conversation) }
            return false
        }
        count += texts.count
        largeTextBytes += largeBytes
        return true
    }
}
