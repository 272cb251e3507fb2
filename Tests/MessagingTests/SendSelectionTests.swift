import Testing

@testable import Messaging

@Suite("Whose texts go into the next group")
struct SendSelectionTests {
    /// Which of those who wait are taken, by their places.
    private static func taken(of waiting: [[OutgoingText]], most: Int = 64, busy: Int...) -> [Int] {
        var selection = SendSelection(most: most, busy: Set(busy.map { OutgoingText.rooms[$0] }))
        return waiting.indices.filter { selection.takes(waiting[$0]) }
    }

    @Test("those go together who came first, but for whose conversation is being written to")
    func besides() {
        let waiting = [
            OutgoingText.several(0), OutgoingText.several(1), OutgoingText.several(1), OutgoingText.several(2),
        ]
        #expect(Self.taken(of: waiting) == [0, 1, 2, 3])
        #expect(Self.taken(of: waiting, busy: 1) == [0, 3])
    }

    @Test("who writes to two conversations, of which one is busy, is not overtaken in the other")
    func notOvertaken() {
        let waiting = [
            OutgoingText.several(0, 1), OutgoingText.several(1), OutgoingText.several(2), OutgoingText.several(0),
        ]
        #expect(Self.taken(of: waiting, busy: 0) == [2])
        #expect(Self.taken(of: waiting) == [0, 1, 2, 3])
    }

    @Test("who has more texts than there is room for is not overtaken in its conversations either")
    func room() {
        let waiting = [
            OutgoingText.several(0, 0), OutgoingText.several(1, 1, 1), OutgoingText.several(1), OutgoingText.several(2),
            OutgoingText.several(3),
        ]
        #expect(Self.taken(of: waiting, most: 4) == [0, 3, 4])
    }
}

extension OutgoingText {
    /// Conversations for tests, by number.
    static let rooms = (0..<100).map { _ in ID.random() }

    /// Texts of one client to those conversations.
    static func several(_ conversations: Int...) -> [OutgoingText] { several(conversations) }

    static func several(_ conversations: [Int]) -> [OutgoingText] {
        conversations.map {
            OutgoingText(caller: .feed, sender: .random(), conversation: rooms[$0], content: "", clientID: nil)
        }
    }
}
