@testable import ChangeFeed
import Testing

@Suite("Feed connection state")
struct FeedConnectionStateTests {
    private static func mark(_ end: String, _ epoch: String) throws -> StandbyWatch.Mark {
        try .init(end: #require(LogPosition(end)), epoch: epoch, asked: .now)
    }

    private var state = FeedConnectionState(isAtStandby: true)

    /// Returns true if the standby must be polled again.
    private mutating func note(
        _ replayed: String, of epoch: String, _ newest: StandbyWatch.Mark?, longestLag: Duration = .seconds(60)
    ) throws -> Bool {
        let moment = StandbyWatch.Moment(replayed: try #require(LogPosition(replayed)), started: "then")
        return try state.note(moment, of: epoch, newest: newest, longestLag: longestLag)
    }

    @Test("is current once the standby has replayed the primary's position")
    mutating func reaches() throws {
        let mark = try Self.mark("0/20", "one")
        let isAwaited = try [note("0/10", of: "one", mark), note("0/20", of: "one", mark)]
        #expect(isAwaited == [true, false])
        #expect(state.reached == mark.asked)
        let isNextAwaited = try note("0/20", of: "one", Self.mark("0/30", "one"))
        #expect(isNextAwaited)
        #expect(state.reached == mark.asked)
    }

    @Test("rejects a standby of another primary")
    mutating func another() throws {
        let mark = try Self.mark("0/20", "one")
        let isAwaited = try note("0/10", of: "two", mark)
        #expect(isAwaited)
        #expect(throws: FeedError.standbyOfAnother) { try note("0/20", of: "two", mark) }
    }

    @Test("ends if the standby lags too long")
    mutating func behind() throws {
        let mark = try Self.mark("0/20", "one")
        #expect(throws: FeedError.standbyIsBehind) { try note("0/10", of: "one", mark, longestLag: .zero) }
    }

    @Test("reports once that it is stuck")
    mutating func stuck() {
        let said = [state.isStuck(after: .seconds(60)), state.isStuck(after: .zero), state.isStuck(after: .zero)]
        #expect(said == [false, true, false])
        var caughtUp = FeedConnectionState(isAtStandby: false)
        caughtUp.hasCaughtUp = true
        let isStuck = caughtUp.isStuck(after: .zero)
        #expect(!isStuck)
    }
}
