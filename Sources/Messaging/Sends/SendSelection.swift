/// Whose texts go into the next group: those who came first, as many as there is room for.
///
/// Who is passed over, since one of its conversations is being written to or there is no room for all of its texts, is
/// not overtaken in any of its conversations by those who came after it.
struct SendSelection {
    /// How many texts are taken.
    private(set) var count = 0
    private let most: Int

    /// Where nothing is to be taken for.
    private var closed: Set<ID>

    /// - Parameter busy: the conversations that are being written to.
    init(most: Int, busy: Set<ID>) {
        self.most = most
        closed = busy
    }

    /// Whether these texts of one client go too; to be asked of each who waits, in the order in which they came.
    mutating func takes(_ texts: [OutgoingText]) -> Bool {
        guard count + texts.count <= most, !texts.contains(where: { closed.contains($0.conversation) }) else {
            for text in texts { closed.insert(text.conversation) }
            return false
        }
        count += texts.count
        return true
    }
}
