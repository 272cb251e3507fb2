@testable import ChangeFeed
@testable import Foundations
import NIOCore
import Testing

@Suite("Acknowledgements that are not reported yet")
struct DeliveryStateTests {
    private let alice = ID.random()
    private var state = DeliveryState()

    private func acknowledgement(_ snapshot: String, epoch: String = "e") throws -> DeliveryState.Acknowledgement {
        .init(user: alice, epoch: epoch, snapshot: try #require(Snapshot(snapshot)))
    }

    /// Turns all acknowledgements into rows, and takes a report.
    private mutating func report() -> [DeliveryState.Row] {
        for (_, acknowledgement) in state.takeClients() { state.add(acknowledgement, of: .some([ID.random()])) }
        return state.takeReport()
    }

    @Test("reports the newest acknowledgement of a user's clients")
    mutating func newest() throws {
        for snapshot in ["12:12:", "14:14:", "13:13:"] {
            state.acknowledge(try acknowledgement(snapshot), by: .subscription(1))
        }
        state.acknowledge(try acknowledgement("11:11:"), by: .subscription(2))
        #expect(report().map(\.acknowledgement.snapshot.text) == ["14:14:", "14:14:"])
        #expect(state.isEmpty)
    }

    @Test("replaces an acknowledgement of another epoch")
    mutating func epoch() throws {
        state.acknowledge(try acknowledgement("99:99:"), by: .user(alice))
        state.acknowledge(try acknowledgement("12:12:", epoch: "f"), by: .user(alice))
        #expect(report().map(\.acknowledgement) == [try acknowledgement("12:12:", epoch: "f")])
    }

    @Test("bounds the users without a subscription, and counts them again once they are reported")
    mutating func users() throws {
        let one = try acknowledgement("12:12:")
        for _ in 0...DeliveryState.maxUsers {
            let user = ID.random()
            state.acknowledge(.init(user: user, epoch: "e", snapshot: one.snapshot), by: .user(user))
        }
        var count = 0
        while !state.isEmpty { count += report().count }
        #expect(count == DeliveryState.maxUsers)
        state.acknowledge(one, by: .user(ID.random()))
        #expect(report().count == 1)
    }

    @Test("ignores snapshots that are too large, and bounds the bytes of those in a report")
    mutating func bytes() throws {
        func acknowledgement(inProgress count: Int, _ number: Int) throws -> DeliveryState.Acknowledgement {
            let list = (1...count).map { "\(1_000_000_000 + $0)" }.joined(separator: ",")
            return try self.acknowledgement("1000000001:\(2_000_000_000 + number):\(list)")
        }
        state.acknowledge(try acknowledgement(inProgress: DeliveryState.maxInProgress + 1, 0), by: .user(alice))
        #expect(state.isEmpty)
        let largest = try acknowledgement(inProgress: DeliveryState.maxInProgress, 0)
        // PostgreSQL's largest number has 19 digits.
        #expect((DeliveryState.maxInProgress + 2) * 20 <= 4_096)
        let clients = DeliveryState.maxReportBytes / largest.snapshot.text.utf8.count
        let rooms = (0..<5).map { _ in ID.random() }
        for number in 0..<2 * clients {
            let one = try acknowledgement(inProgress: DeliveryState.maxInProgress, number)
            state.add(.init(user: ID.random(), epoch: "e", snapshot: one.snapshot), of: .some(rooms))
        }
        for _ in 0..<2 * 5 { #expect(state.takeReport().count == clients) }
        #expect(state.isEmpty)
    }

    @Test("takes of each user one conversation in turn, the newest acknowledgement of each, within a bound")
    mutating func turns() throws {
        let rooms = (0..<200).map { _ in ID.random() }
        let offenders = (0..<20).map { _ in ID.random() }
        for user in offenders {
            // On many connections, again and again.
            for snapshot in ["12:12:", "14:14:", "13:13:"] {
                state.add(.init(user: user, epoch: "e", snapshot: try #require(Snapshot(snapshot))), of: .some(rooms))
            }
        }
        state.add(try acknowledgement("12:12:"), of: .some([rooms[0]]))
        let first = state.takeReport()
        #expect(first.count == DeliveryState.maxConversations)
        #expect(first.count { $0.acknowledgement.user == alice } == 1)
        #expect(first.allSatisfy { $0.acknowledgement.user == alice || $0.acknowledgement.snapshot.text == "14:14:" })
        // Others are taken beside the rest.
        state.acknowledge(try acknowledgement("15:15:"), by: .subscription(1))
        #expect(state.takeClients().count == 1)
        state.add(try acknowledgement("15:15:"), of: .some([rooms[1]]))
        let second = state.takeReport()
        #expect(second.contains { $0.acknowledgement.user == alice })
        #expect(first.count + second.count + state.takeReport().count == offenders.count * rooms.count + 2)
        #expect(state.isEmpty)
    }

    @Test("a user with too many conversations is reported with all")
    mutating func many() throws {
        for _ in 0...DeliveryState.maxConversationsOfUser {
            state.add(try acknowledgement("12:12:"), of: .some([ID.random()]))
        }
        #expect(state.takeReport().isEmpty)
        #expect(state.takeCompleteReport().map(\.conversation) == [nil])
        #expect(state.isEmpty)
    }

    @Test("counts users of unknown number by the time that reports of them take")
    mutating func unknown() throws {
        func add() throws {
            for _ in 0..<400 {
                state.add(
                    .init(user: ID.random(), epoch: "e", snapshot: try #require(Snapshot("12:12:"))),
                    of: .all(count: nil))
            }
        }
        try add()
        #expect(state.takeCompleteReport().count == 100)
        for expected in [25, 6, 1, 1] {
            state.completeReportEnded(after: .seconds(1))
            #expect(state.takeCompleteReport().count == expected)
        }
        for _ in 0..<8 { state.completeReportEnded(after: .milliseconds(5)) }
        #expect(state.takeCompleteReport().count == 100)
    }

    @Test("reports one acknowledgement of all conversations of each user, in turn, beside those of some")
    mutating func complete() throws {
        let (bob, carol) = (ID.random(), ID.random())
        func one(_ user: ID, _ snapshot: String = "12:12:") throws -> DeliveryState.Acknowledgement {
            .init(user: user, epoch: "e", snapshot: try #require(Snapshot(snapshot)))
        }
        for snapshot in ["12:12:", "14:14:", "13:13:"] {
            state.add(try one(alice, snapshot), of: .all(count: DeliveryState.maxConversations * 2))
        }
        for user in [bob, carol] { state.add(try one(user), of: .all(count: 20)) }
        state.add(try one(bob), of: .some([alice]))
        #expect(state.takeReport().map(\.acknowledgement.user) == [bob])
        let first = state.takeCompleteReport()
        #expect(first.map(\.acknowledgement) == [try one(alice, "14:14:")] && first[0].conversation == nil)
        // It failed. The others come first.
        state.reportFailed(first)
        let second = state.takeCompleteReport()
        #expect(second.map(\.acknowledgement.user) == [bob, carol])
        state.reportSucceeded(unsettled: [second[1]])
        #expect(state.takeCompleteReport() == first)
        #expect(state.takeCompleteReport().map(\.acknowledgement.user) == [carol])
        #expect(state.isEmpty)
    }

    @Test("repeats a report that failed, until that has failed repeatedly")
    mutating func failures() throws {
        state.acknowledge(try acknowledgement("12:12:"), by: .subscription(1))
        var report = self.report()
        for _ in 1..<DeliveryState.maxFailures {
            state.reportFailed(report)
            report = state.takeReport()
            #expect(report.count == 1)
        }
        state.reportFailed(report)
        #expect(state.isEmpty)
    }

    @Test("reports unsettled rows again")
    mutating func unsettled() throws {
        state.add(try acknowledgement("12:12:"), of: .some([alice]))
        let report = state.takeReport()
        state.reportSucceeded(unsettled: report)
        #expect(state.takeReport() == report)
        state.reportSucceeded(unsettled: [])
        #expect(state.isEmpty)
    }
}

@Suite("Messages that clients have not acknowledged")
struct AcknowledgementTrackerTests {
    private let room = ID.random()
    private let other = ID.random()
    private var tracker = AcknowledgementTracker()

    private func at(_ xmax: Int) throws -> Snapshot { try #require(Snapshot("\(xmax):\(xmax):")) }

    private mutating func push(_ conversation: ID, to subscribers: Set<Int> = [1], at xmax: Int) throws {
        let fact = Change.Fact.message(conversation: conversation, seq: 1, object: ByteBuffer())
        tracker.record(fact, for: subscribers, at: try at(xmax))
    }

    @Test("the first acknowledgement may include messages of any conversation")
    mutating func first() throws {
        try push(room, at: 12)
        #expect(tracker.acknowledge(try at(12), by: 1, at: try at(20)) == nil)
        // What was pushed before the first acknowledgement came is not known either.
        #expect(tracker.acknowledge(try at(15), by: 1, at: try at(20)) == nil)
        #expect(tracker.acknowledge(try at(20), by: 1, at: try at(20)) == nil)
        #expect(tracker.acknowledge(try at(20), by: 1, at: try at(20)) == [])
    }

    @Test("a later one includes what was pushed, until all of it is acknowledged")
    mutating func later() throws {
        #expect(tracker.acknowledge(try at(12), by: 1, at: try at(12)) == nil)
        try push(room, to: [1, 2], at: 13)
        try push(other, at: 14)
        #expect(Set(tracker.acknowledge(try at(13), by: 1, at: try at(14)) ?? []) == [room, other])
        #expect(tracker.acknowledge(try at(14), by: 1, at: try at(14)) == [other])
        #expect(tracker.acknowledge(try at(14), by: 1, at: try at(14)) == [])
        #expect(tracker.acknowledge(try at(14), by: 2, at: try at(14)) == nil)
    }

    @Test("beyond the bound the record begins anew")
    mutating func bound() throws {
        #expect(tracker.acknowledge(try at(12), by: 1, at: try at(12)) == nil)
        for _ in 0..<AcknowledgementTracker.maxConversations { try push(ID.random(), at: 13) }
        let most = AcknowledgementTracker.maxConversations
        #expect(tracker.acknowledge(try at(12), by: 1, at: try at(13))?.count == most)
        try push(room, at: 14)
        #expect(tracker.acknowledge(try at(14), by: 1, at: try at(14)) == nil)
    }

    @Test("large conversations are not recorded, until they are forgotten")
    mutating func large() throws {
        #expect(tracker.acknowledge(try at(12), by: 1, at: try at(12)) == nil)
        tracker.recordLargeConversations([room])
        try push(room, at: 13)
        #expect(tracker.acknowledge(try at(13), by: 1, at: try at(13)) == [])
        tracker.forgetLargeConversations()
        try push(room, at: 14)
        #expect(tracker.acknowledge(try at(14), by: 1, at: try at(14)) == [room])
        tracker.remove(1)
        #expect(tracker.acknowledge(try at(14), by: 1, at: try at(14)) == nil)
    }
}
