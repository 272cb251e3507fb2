import Testing

@testable import Messaging

@Suite("Whose texts go into the next group")
struct SendSelectionTests {
    private static let rooms = (0..<4).map { _ in ID.random() }

    private static func texts(_ conversations: Int...) -> [OutgoingText] {
        conversations.map {
            OutgoingText(
                caller: .feed, sender: .random(), conversation: rooms[$0], content: "", clientID: nil)
        }
    }

    /// Which of those who wait are taken, by their places.
    private static func taken(of waiting: [[OutgoingText]], most: Int = 64, busy: Int...) -> [Int] {
        var selection = SendSelection(most: most, busy: Set(busy.map { rooms[$0] }))
        return waiting.indices.filter { selection.takes(waiting[$0]) }
    }

    @Test("those go together who came first, but for whose conversation is being written to")
    func besides() {
        let waiting = [Self.texts(0), Self.texts(1), Self.texts(1), Self.texts(2)]
        #expect(Self.taken(of: waiting) == [0, 1, 2, 3])
        #expect(Self.taken(of: waiting, busy: 1) == [0, 3])
    }

    @Test("who writes to two conversations, of which one is busy, is not overtaken in the other")
    func notOvertaken() {
        let waiting = [Self.texts(0, 1), Self.texts(1), Self.texts(2), Self.texts(0)]
        #expect(Self.taken(of: waiting, busy: 0) == [2])
        #expect(Self.taken(of: waiting) == [0, 1, 2, 3])
    }

    @Test("who has more texts than there is room for is not overtaken in its conversations either")
    func room() {
        let waiting = [Self.texts(0, 0), Self.texts(1, 1, 1), Self.texts(1), Self.texts(2), Self.texts(3)]
        #expect(Self.taken(of: waiting, most: 4) == [0, 3, 4])
    }
}
