@testable import Foundations
@testable import DatabaseAccess
import Testing

@testable import Messaging

@Suite("Send selection")
struct SendSelectionTests {
    /// Returns the indices of the selected clients.
    private static func selected(of waiting: [[OutgoingText]], maxCount: Int = 64, inFlight: Int...) -> [Int] {
        var selection = SendSelection(maxCount: maxCount, inFlight: Set(inFlight.map { OutgoingText.rooms[$0] }))
        return waiting.indices.filter { selection.add(waiting[$0]) }
    }

    @Test("selects in order, except for conversations in flight")
    func inOrder() {
        let waiting = [
            OutgoingText.several(0), OutgoingText.several(1), OutgoingText.several(1), OutgoingText.several(2),
        ]
        #expect(Self.selected(of: waiting) == [0, 1, 2, 3])
        #expect(Self.selected(of: waiting, inFlight: 1) == [0, 3])
    }

    @Test("never overtakes a skipped client in its other conversation")
    func notOvertaken() {
        let waiting = [
            OutgoingText.several(0, 1), OutgoingText.several(1), OutgoingText.several(2), OutgoingText.several(0),
        ]
        #expect(Self.selected(of: waiting, inFlight: 0) == [2])
        #expect(Self.selected(of: waiting) == [0, 1, 2, 3])
    }

    @Test("selects small texts past large ones that do not fit, and at least one large one")
    func largeTexts() {
        let large = String(repeating: "a", count: 30_000)
        func text(_ conversation: Int, _ content: String) -> [OutgoingText] {
            [
                OutgoingText(
                    caller: .feed, sender: .random(), conversation: OutgoingText.rooms[conversation], content: content,
                    clientID: nil)
            ]
        }
        let waiting = (0..<5).map { text($0, large) } + [text(5, "small"), text(4, "after a large one")]
        #expect(Self.selected(of: waiting) == [0, 1, 5])
        let huge = (0..<4).map { text($0, large)[0] }
        #expect(Self.selected(of: [huge, text(4, large), text(5, "small")]) == [0, 2])
    }

    @Test("never overtakes a client that does not fit")
    func room() {
        let waiting = [
            OutgoingText.several(0, 0), OutgoingText.several(1, 1, 1), OutgoingText.several(1), OutgoingText.several(2),
            OutgoingText.several(3),
        ]
        #expect(Self.selected(of: waiting, maxCount: 4) == [0, 3, 4])
    }
}

extension OutgoingText {
    /// Conversations for tests, by number.
    static let rooms = (0..<100).map { _ in ID.random() }

    /// Returns texts of one client to those conversations.
    static func several(_ conversations: Int...) -> [OutgoingText] { several(conversations) }

    static func several(_ conversations: [Int]) -> [OutgoingText] {
        conversations.map {
            OutgoingText(caller: .feed, sender: .random(), conversation: rooms[$0], content: "", clientID: nil)
        }
    }
}
