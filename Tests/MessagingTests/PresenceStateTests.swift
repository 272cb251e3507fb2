@testable import ChangeFeed
@testable import Foundations
@testable import Postgres
import Testing

@Suite("Presence state")
struct PresenceStateTests {
    private let alice = ID.random()
    private let bob = ID.random()
    private let start = ContinuousClock.now
    private var state: PresenceState

    init() { state = PresenceState(PresenceTimes(), at: start) }

    private func at(_ seconds: Double) -> ContinuousClock.Instant { start + .seconds(seconds) }

    /// Returns the report that is due at that time, and accepts it.
    private mutating func report(at seconds: Double) -> PresenceState.Report? {
        defer { state.reportCompleted(.accepted) }
        return state.report(at: at(seconds))
    }

    @Test("reports nothing and has no lease without users")
    mutating func empty() {
        #expect(state.due == nil)
        #expect(report(at: 100) == nil)
        #expect(!state.hasLease)
    }

    @Test("reports the first user at once, in a complete report")
    mutating func first() {
        state.sessionStarted(of: alice)
        #expect(report(at: 0) == .init(arrived: [alice], isComplete: true))
        #expect(state.hasLease)
        #expect(report(at: 0) == nil)
    }

    @Test("reports the users of one second together")
    mutating func pace() {
        state.sessionStarted(of: alice)
        _ = report(at: 0)
        let others = (0..<100).map { _ in ID.random() }
        for user in others { state.sessionStarted(of: user) }
        #expect(report(at: 0.9) == nil)
        #expect(state.due == at(1))
        #expect(Set(report(at: 1)?.arrived ?? []) == Set(others))
    }

    @Test("reports a user as gone five seconds after its last session")
    mutating func sessions() {
        state.sessionStarted(of: alice)
        state.sessionStarted(of: alice)
        _ = report(at: 0)
        state.sessionEnded(of: alice, at: at(1))
        #expect(state.due == at(3))
        state.sessionEnded(of: alice, at: at(1.5))
        #expect(report(at: 3) == .init())
        #expect(report(at: 6) == .init())
        #expect(state.due == at(6.5))
        #expect(report(at: 6.5) == .init(gone: [alice]))
        #expect(state.due == nil)
        #expect(!state.hasLease)
    }

    @Test("does not report a user that returns within five seconds")
    mutating func reconnect() {
        state.sessionStarted(of: alice)
        state.sessionStarted(of: bob)
        _ = report(at: 0)
        state.sessionEnded(of: alice, at: at(1))
        state.sessionStarted(of: alice)
        #expect(report(at: 5.9) == .init())
        #expect(report(at: 6) == nil)
        #expect(state.due == at(8.9))
    }

    @Test("does not report a user that leaves before the report")
    mutating func brief() {
        state.sessionStarted(of: alice)
        _ = report(at: 0)
        state.sessionStarted(of: bob)
        state.sessionEnded(of: bob, at: at(0.5))
        #expect(state.due == at(3))
        #expect(report(at: 3) == .init())
    }

    @Test("ignores a second end of a session")
    mutating func twice() {
        state.sessionStarted(of: alice)
        _ = report(at: 0)
        state.sessionEnded(of: alice, at: at(1))
        state.sessionEnded(of: alice, at: at(4))
        #expect(report(at: 6) == .init(gone: [alice]))
    }

    @Test("renews the lease with any report while users are online")
    mutating func renewal() {
        state.sessionStarted(of: alice)
        _ = report(at: 0)
        #expect(report(at: 2.9) == nil)
        #expect(report(at: 3) == .init())
        state.sessionStarted(of: bob)
        #expect(report(at: 4)?.arrived == [bob])
        #expect(state.due == at(7))
    }

    @Test("sends a complete report at once after a rejection")
    mutating func rejected() {
        state.sessionStarted(of: alice)
        state.sessionStarted(of: bob)
        _ = report(at: 0)
        state.sessionEnded(of: bob, at: at(1))
        #expect(state.report(at: at(20)) == .init(gone: [bob]))
        state.reportCompleted(.rejected)
        #expect(report(at: 20) == .init(arrived: [alice], isComplete: true))
    }

    @Test("sends a complete report after one with unknown outcome")
    mutating func lost() {
        state.sessionStarted(of: alice)
        _ = report(at: 0)
        state.sessionStarted(of: bob)
        state.sessionEnded(of: alice, at: at(1))
        _ = state.report(at: at(1))
        state.reportCompleted(.unknown)
        #expect(state.due == at(2))
        let complete = report(at: 2)
        #expect(complete?.isComplete == true)
        #expect(Set(complete?.arrived ?? []) == [alice, bob])
        #expect(report(at: 6) == .init(gone: [alice]))
    }

    @Test("splits reports of more than 5,000 users")
    mutating func many() {
        let users = (0..<12_000).map { _ in ID.random() }
        for user in users { state.sessionStarted(of: user) }
        let counts = (0..<3).map { report(at: Double($0)) }
        #expect(counts.map { $0?.arrived.count } == [5_000, 5_000, 2_000])
        #expect(counts.map { $0?.isComplete } == [true, false, false])
        #expect(Set(counts.flatMap { $0?.arrived ?? [] }) == Set(users))
        for user in users { state.sessionEnded(of: user, at: at(10)) }
        #expect((0..<4).map { report(at: 20 + Double($0))?.gone.count } == [5_000, 5_000, 2_000, nil])
        #expect(!state.hasLease)
    }

    @Test("a split complete report leaves no departed user online")
    mutating func leavingWhole() {
        let users = (0..<6_000).map { _ in ID.random() }
        for user in users { state.sessionStarted(of: user) }
        _ = report(at: 0)
        _ = report(at: 1)
        for user in users { state.sessionEnded(of: user, at: at(2)) }
        state.sessionStarted(of: alice)
        state.reportCompleted(.unknown)
        let complete = report(at: 3)
        #expect(complete?.arrived.count == 5_000)
        var here = Set(complete?.arrived ?? [])
        for second in 4..<20 {
            guard let report = report(at: Double(second)) else { continue }
            #expect(Set(report.arrived).isDisjoint(with: report.gone))
            here.subtract(report.gone)
            here.formUnion(report.arrived)
        }
        #expect(here == [alice])
    }
}
