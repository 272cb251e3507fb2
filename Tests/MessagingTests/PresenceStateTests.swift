import Testing

@testable import Messaging

@Suite("What a node tells of who is online")
struct PresenceStateTests {
    private let alice = ID.random()
    private let bob = ID.random()
    private let start = ContinuousClock.now
    private var state: PresenceState

    init() { state = PresenceState(PresenceTimes(), at: start) }

    private func at(_ seconds: Double) -> ContinuousClock.Instant { start + .seconds(seconds) }

    /// Reports what is due at that time, and the database takes it.
    private mutating func told(at seconds: Double) -> PresenceState.Report? {
        defer { state.came(.taken) }
        return state.report(at: at(seconds))
    }

    @Test("a node with nobody has nothing to tell, and no lease")
    mutating func nobody() {
        #expect(state.due == nil)
        #expect(told(at: 100) == nil)
        #expect(!state.hasLease)
    }

    @Test("who comes is told of at once, and with the first of them that nobody else is here")
    mutating func first() {
        state.began(alice)
        #expect(told(at: 0) == .init(arrived: [alice], isWhole: true))
        #expect(state.hasLease)
        #expect(told(at: 0) == nil)
    }

    @Test("those who come in the same second share the next statement")
    mutating func pace() {
        state.began(alice)
        _ = told(at: 0)
        let others = (0..<100).map { _ in ID.random() }
        for user in others { state.began(user) }
        #expect(told(at: 0.9) == nil)
        #expect(state.due == at(1))
        #expect(Set(told(at: 1)?.arrived ?? []) == Set(others))
    }

    @Test("a user's sessions are counted: the last one that ends is its end, five seconds later")
    mutating func sessions() {
        state.began(alice)
        state.began(alice)
        _ = told(at: 0)
        state.ended(alice, at: at(1))
        #expect(state.due == at(3))
        state.ended(alice, at: at(1.5))
        #expect(told(at: 3) == .init())
        #expect(told(at: 6) == .init())
        #expect(state.due == at(6.5))
        #expect(told(at: 6.5) == .init(gone: [alice]))
        #expect(state.due == nil)
        #expect(!state.hasLease)
    }

    @Test("who is back within five seconds was never away")
    mutating func reconnect() {
        state.began(alice)
        state.began(bob)
        _ = told(at: 0)
        state.ended(alice, at: at(1))
        state.began(alice)
        #expect(told(at: 5.9) == .init())
        #expect(told(at: 6) == nil)
        #expect(state.due == at(8.9))
    }

    @Test("who leaves before it was told of is not told of")
    mutating func brief() {
        state.began(alice)
        _ = told(at: 0)
        state.began(bob)
        state.ended(bob, at: at(0.5))
        #expect(state.due == at(3))
        #expect(told(at: 3) == .init())
    }

    @Test("a session that is ended twice ends once")
    mutating func twice() {
        state.began(alice)
        _ = told(at: 0)
        state.ended(alice, at: at(1))
        state.ended(alice, at: at(4))
        #expect(told(at: 6) == .init(gone: [alice]))
    }

    @Test("the lease is renewed while somebody is here, by any statement")
    mutating func renewal() {
        state.began(alice)
        _ = told(at: 0)
        #expect(told(at: 2.9) == nil)
        #expect(told(at: 3) == .init())
        state.began(bob)
        #expect(told(at: 4)?.arrived == [bob])
        #expect(state.due == at(7))
    }

    @Test("a node that is not known says at once all that it has, and that it is all")
    mutating func refused() {
        state.began(alice)
        state.began(bob)
        _ = told(at: 0)
        state.ended(bob, at: at(1))
        #expect(state.report(at: at(20)) == .init(gone: [bob]))
        state.came(.refused)
        #expect(told(at: 20) == .init(arrived: [alice], isWhole: true))
    }

    @Test("after a report of which nobody knows whether it came, it says all, those too who may be back")
    mutating func lost() {
        state.began(alice)
        _ = told(at: 0)
        state.began(bob)
        state.ended(alice, at: at(1))
        _ = state.report(at: at(1))
        state.came(.lost)
        #expect(state.due == at(2))
        let whole = told(at: 2)
        #expect(whole?.isWhole == true)
        #expect(Set(whole?.arrived ?? []) == [alice, bob])
        #expect(told(at: 6) == .init(gone: [alice]))
    }

    @Test("of many one statement tells of 5,000, whole or not, and the next of the others")
    mutating func many() {
        let users = (0..<12_000).map { _ in ID.random() }
        for user in users { state.began(user) }
        let counts = (0..<3).map { told(at: Double($0)) }
        #expect(counts.map { $0?.arrived.count } == [5_000, 5_000, 2_000])
        #expect(counts.map { $0?.isWhole } == [true, false, false])
        #expect(Set(counts.flatMap { $0?.arrived ?? [] }) == Set(users))
        for user in users { state.ended(user, at: at(10)) }
        #expect((0..<4).map { told(at: 20 + Double($0))?.gone.count } == [5_000, 5_000, 2_000, nil])
        #expect(!state.hasLease)
    }

    @Test("a whole of which some leave before they were told of leaves nobody behind")
    mutating func leavingWhole() {
        let users = (0..<6_000).map { _ in ID.random() }
        for user in users { state.began(user) }
        _ = told(at: 0)
        _ = told(at: 1)
        for user in users { state.ended(user, at: at(2)) }
        state.began(alice)
        state.came(.lost)
        let whole = told(at: 3)
        #expect(whole?.arrived.count == 5_000)
        var here = Set(whole?.arrived ?? [])
        for second in 4..<20 {
            guard let report = told(at: Double(second)) else { continue }
            #expect(Set(report.arrived).isDisjoint(with: report.gone))
            here.subtract(report.gone)
            here.formUnion(report.arrived)
        }
        #expect(here == [alice])
    }
}
