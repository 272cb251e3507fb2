import Foundations
import NIOCore

/// The feed's inner loops, for `postline-bench hotpaths`.
package enum FeedHotPaths {
    /// Returns a function that parses and prints a cursor, and returns 1 if the result is the same.
    package static func cursor() -> () -> Int {
        guard let snapshot = Snapshot("1000:1040:1003,1007,1012,1029") else { return { 0 } }
        let text = Cursor(epoch: "7263712673126371-1-16384-1", place: .at(snapshot)).text
        return { Cursor(text)?.text == text ? 1 : 0 }
    }

    /// Returns a function that distributes a batch of messages to that many members of one conversation, and returns
    /// the number of deliveries.
    package static func fanOut(messages: Int, to members: Int) -> () -> Int {
        let room = ID.random()
        var fanout = Fanout()
        guard let start = Snapshot("10:10:"), let now = Snapshot("20:20:") else { return { 0 } }
        for _ in 0..<members {
            let id = fanout.subscribe(user: ID.random(), messagesPerConversation: 20)
            _ = fanout.activate(
                id, from: .init(epoch: "e", snapshot: start, conversations: [room], seesPresence: true))
        }
        let object = ByteBuffer(string: #"{"content":"\#(String(repeating: "x", count: 280))"}"#)
        let changes = (1...messages).map { number in
            Change(
                transaction: 15, fact: .message(conversation: room, seq: Int64(number), object: object))
        }
        let batch = ChangeBatch(position: Feed.Position(epoch: "e", snapshot: now), changes: changes)
        return { fanout.distribute(batch).reduce(0) { $0 + $1.subscribers.count } * messages }
    }
}
