@testable import Foundations
@testable import Postgres
import Testing

/// Shares of a pool: the requests that start while an owner exceeds its share.
@Suite struct PoolSharesTests {
    private typealias Action = PoolState.Action

    private let start = ContinuousClock.now

    private func at(_ milliseconds: Int) -> ContinuousClock.Instant { start + .milliseconds(milliseconds) }

    private func makeOpenState(size: Int, _ change: (inout PoolShare) -> Void = { _ in }) -> PoolState {
        var share = PoolShare()
        change(&share)
        var state = PoolState(
            size: size, backoff: Backoff(base: .milliseconds(100), limit: .seconds(1)), share: share)
        _ = state.start(now: at(0))
        for connection in 1...size { #expect(state.opened(connection: connection, now: at(0)) == []) }
        return state
    }

    private func request(
        _ id: Int, of owner: RequestOwner?, isLockWaiter: Bool = false, in state: inout PoolState, now: Int = 0
    ) -> [Action] {
        state.request(
            .init(
                id: id, owner: owner, isLockWaiter: isLockWaiter, until: at(now + 3_000),
                shareUntil: at(now + 12_000)), now: at(now))
    }

    private func started(_ actions: [Action]) -> [Int] {
        actions.compactMap { if case .start(let request, _) = $0 { request } else { nil } }
    }

    private func refusedForShare(_ actions: [Action]) -> [Int] {
        actions.compactMap { if case .refuseShare(let request, _) = $0 { request } else { nil } }
    }

    // A3
    @Test("runs two requests of an owner, and another owner's at once")
    func twoRun() {
        var state = makeOpenState(size: 4)
        let begun = (1...200).flatMap { request($0, of: "offender", in: &state) }
        #expect(started(begun) == [1, 2])
        #expect(started(request(900, of: "other", in: &state)) == [900])
        #expect(started(request(901, of: nil, in: &state)) == [901])
        #expect(state.idleCount == 0)
        // The free slot is not for the owner that exceeds its share.
        #expect(started(state.finished(connection: 1, reusable: true, now: at(1))) == [])
        #expect(state.idleCount == 1)
        // The slot of its own finished request is.
        #expect(started(state.finished(connection: 4, reusable: true, now: at(1))) == [3])
    }

    // A3
    @Test("serves owners in turn when the pool is full")
    func inTurn() {
        var state = makeOpenState(size: 1)
        _ = request(1, of: "a", in: &state)
        for id in 2...9 { #expect(request(id, of: "a", in: &state) == []) }
        #expect(request(20, of: "b", in: &state) == [])
        #expect(request(30, of: "c", in: &state) == [])
        #expect(request(21, of: "b", in: &state) == [])
        var order: [Int] = []
        for time in 1...6 { order += started(state.finished(connection: 1, reusable: true, now: at(time))) }
        #expect(order == [2, 20, 30, 3, 21, 4])
    }

    // A3
    @Test("rejects only an owner with a full queue")
    func fullQueue() {
        var state = makeOpenState(size: 2) { $0.maxWaiting = 3 }
        let actions = (1...7).flatMap { request($0, of: "offender", in: &state) }
        #expect(started(actions) == [1, 2])
        #expect(refusedForShare(actions) == [6, 7])
        #expect(request(8, of: "other", in: &state) == [])
        #expect(started(state.finished(connection: 2, reusable: true, now: at(1))) == [3])
    }

    // A3
    @Test("delays an owner whose budget is exhausted")
    func budget() throws {
        var state = makeOpenState(size: 2) {
            $0.timePerSecond = .milliseconds(500)
            $0.burst = .seconds(1)
        }
        #expect(started(request(1, of: "a", in: &state)) == [1])
        for (owner, time) in [("c", 0), ("d", 1_000)] as [(RequestOwner, Int)] {
            #expect(started(request(10 + time, of: owner, in: &state, now: time)) == [10 + time])
            #expect(state.finished(connection: 1, reusable: true, now: at(time + 1_000)) == [])
        }
        #expect(state.finished(connection: 2, reusable: true, now: at(2_000)) == [])
        // A burst of 1 s minus 2 s leaves a debt of 1 s, which takes 2 s to refill.
        #expect(request(2, of: "a", in: &state, now: 2_000) == [])
        #expect(started(request(3, of: "b", in: &state, now: 2_000)) == [3])
        let wake = try #require(state.nextWake)
        #expect(at(3_990) <= wake && wake <= at(4_010))
        #expect(state.timerFired(now: at(3_000)) == [])
        let next = try #require(state.nextWake)
        #expect(started(state.timerFired(now: next)) == [2])
    }

    @Test("does not charge a stall, in which the database answers nobody", arguments: [true, false])
    func stall(isAnswered: Bool) {
        var state = makeOpenState(size: 4)
        for id in 1...2 { #expect(started(request(id, of: "a", in: &state)) == [id]) }
        #expect(started(request(3, of: "b", in: &state, now: 500)) == [3])
        // Some requests end at their deadline, others once the database goes on.
        for connection in [4, 3] { _ = state.finished(connection: connection, reusable: isAnswered, now: at(14_000)) }
        #expect(state.finished(connection: 2, reusable: true, now: at(14_001)) == [])
        #expect(started(request(4, of: "a", in: &state, now: 14_001)) == [4])
        #expect(started(request(5, of: "b", in: &state, now: 14_001)) == [5])
    }

    @Test("does not charge the time of a connection that never answered while others did")
    func partialStall() {
        var state = makeOpenState(size: 4)
        for id in 1...2 { #expect(started(request(id, of: "a", in: &state)) == [id]) }
        for time in 1...12 {
            #expect(started(request(10 + time, of: "b", in: &state, now: time * 1_000)) == [10 + time])
            #expect(state.finished(connection: 2, reusable: true, now: at(time * 1_000 + 10)) == [])
        }
        for connection in [4, 3] { _ = state.finished(connection: connection, reusable: false, now: at(12_000)) }
        #expect(started(request(30, of: "a", in: &state, now: 12_001)) == [30])
    }

    @Test("never delays a steady load within the budget", arguments: [(2, 10), (49, 100), (200, 1_000)])
    func withinBudget(work: Int, interval: Int) {
        var state = makeOpenState(size: 1)
        var time = 0
        for id in 1...500 {
            #expect(started(request(id, of: "a", in: &state, now: time)) == [id])
            #expect(state.finished(connection: 1, reusable: true, now: at(time + work)) == [])
            time += interval
        }
    }

    @Test("distinguishes an exceeded share from a full pool")
    func deadlines() {
        var state = makeOpenState(size: 3)
        for id in 1...3 { _ = request(id, of: "a", in: &state) }
        _ = request(4, of: "b", in: &state)
        #expect(request(5, of: "c", in: &state) == [])
        #expect(state.timerFired(now: at(3_000)) == [.refuse(request: 5, "all 3 connections are in use")])
        #expect(refusedForShare(state.timerFired(now: at(11_999))) == [])
        #expect(refusedForShare(state.timerFired(now: at(12_000))) == [3])
        #expect(state.waitingCount == 0)
        #expect(state.nextWake == nil)
    }

    // A5
    @Test("limits requests that wait for locks to half the connections", arguments: [(8, 4), (3, 1), (1, 1)])
    func lockWaiters(size: Int, most: Int) {
        var state = makeOpenState(size: size)
        let actions = (1...20).flatMap { request($0, of: "user \($0)", isLockWaiter: true, in: &state) }
        #expect(started(actions) == Array(1...most))
        guard size > 1 else { return }
        #expect(started(request(100, of: "other", in: &state)) == [100])
        #expect(started(state.finished(connection: size, reusable: true, now: at(5_000))) == [most + 1])
    }

    // A5
    @Test("does not count lock waits against the budget")
    func lockTime() {
        var state = makeOpenState(size: 1) { $0.burst = .seconds(1) }
        #expect(started(request(1, of: "a", isLockWaiter: true, in: &state)) == [1])
        #expect(state.finished(connection: 1, reusable: true, now: at(5_000)) == [])
        #expect(started(request(2, of: "a", in: &state, now: 5_000)) == [2])
    }

    @Test("an admitted request does not wait for the share, which is charged with it")
    func admitted() {
        var state = makeOpenState(size: 8) { $0.burst = .seconds(1) }
        for id in 1...3 { _ = request(id, of: "a", in: &state) }
        #expect(state.waitingCount == 1)
        let admitted = PoolState.Request(id: 4, payer: "a", until: at(3_000))
        #expect(started(state.request(admitted, now: at(0))) == [4])
        // The budget of the owner: one second, of which its three requests have used three.
        for connection in [8, 7, 6] {
            #expect(started(state.finished(connection: connection, reusable: true, now: at(1_000))) == [])
        }
        #expect(state.waitingCount == 1)
    }

    @Test("limits the users, and the guests, of an address together, and no other address")
    func addresses() {
        let address = AddressKey("192.0.2.1")
        var state = makeOpenState(size: 12)
        let users = (1...20).flatMap { request($0, of: RequestOwner("user \($0)", in: .users(address)), in: &state) }
        #expect(started(users) == Array(1...9))
        let guests = (21...30).flatMap {
            request($0, of: RequestOwner("guest \($0)", in: .guests(address)), in: &state)
        }
        #expect(started(guests) == [21, 22, 23])
        #expect(started(state.finished(connection: 12, reusable: true, now: at(1))) == [10])
        #expect(started(state.finished(connection: 1, reusable: true, now: at(1))) == [24])
        #expect(started(state.finished(connection: 11, reusable: true, now: at(1))) == [11])
        let other = RequestOwner("other", in: .users(AddressKey("192.0.2.2")))
        #expect(request(31, of: other, in: &state) == [])
        #expect(started(state.finished(connection: 10, reusable: true, now: at(1))) == [12])
        #expect(started(state.finished(connection: 9, reusable: true, now: at(1))) == [31])
    }

    @Test("frees the owner's slot of a lost connection")
    func lost() {
        var state = makeOpenState(size: 3)
        for id in 1...3 { _ = request(id, of: "a", in: &state) }
        #expect(started(state.lost(connection: 3, now: at(1))) == [3])
    }

    @Test("removes idle owners")
    func forgotten() {
        var shares = PoolShares(PoolShare(), size: 8)
        for number in 0..<10_000 {
            let time = at(number * 10)
            shares.began("user \(number)", now: time)
            shares.ended("user \(number)", after: .milliseconds(1), now: time + .milliseconds(1))
        }
        #expect(shares.count <= 2_048)
    }
}
