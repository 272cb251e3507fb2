import Foundations
import Testing

@testable import Postgres

/// The decisions of the pool without a database: connections and requests are numbers, and time is a parameter.
@Suite struct PoolStateTests {
    private typealias Action = PoolState.Action

    private let start = ContinuousClock.now

    private func at(_ milliseconds: Int) -> ContinuousClock.Instant { start + .milliseconds(milliseconds) }

    private func makeState(size: Int) -> PoolState {
        PoolState(size: size, backoff: Backoff(base: .milliseconds(100), limit: .seconds(1)))
    }

    /// Returns a pool whose connections 1…size are open and idle.
    private func makeOpenState(size: Int) -> PoolState {
        var state = makeState(size: size)
        _ = state.start(now: at(0))
        for connection in 1...size { #expect(state.opened(connection: connection, now: at(0)) == []) }
        return state
    }

    private func refused(_ actions: [Action]) -> [Int] {
        actions.compactMap { if case .refuse(let request, _) = $0 { request } else { nil } }
    }

    @Test("opens all connections at the start")
    func opensAll() {
        var state = makeState(size: 3)
        #expect(state.start(now: at(0)) == [.open(connection: 1), .open(connection: 2), .open(connection: 3)])
        #expect(state.openingCount == 3)
        #expect(state.start(now: at(0)) == [])
    }

    @Test("starts a request on the connection used last")
    func startsAtOnce() {
        var state = makeOpenState(size: 2)
        #expect(state.request(.init(id: 1, until: at(100)), now: at(0)) == [.start(request: 1, connection: 2)])
        #expect(state.request(.init(id: 2, until: at(100)), now: at(0)) == [.start(request: 2, connection: 1)])
        #expect(state.finished(connection: 1, reusable: true, now: at(1)) == [])
        #expect(state.request(.init(id: 3, until: at(100)), now: at(2)) == [.start(request: 3, connection: 1)])
        #expect((state.idleCount, state.busyCount, state.waitingCount) == (0, 2, 0))
    }

    @Test("serves waiting requests in order, without cancelled ones")
    func order() {
        var state = makeOpenState(size: 1)
        _ = state.request(.init(id: 1, until: at(1_000)), now: at(0))
        for request in 2...4 { #expect(state.request(.init(id: request, until: at(1_000)), now: at(0)) == []) }
        #expect(state.waitingCount == 3)
        #expect(state.cancel(2) == true)
        #expect(state.cancel(2) == false)
        #expect(state.finished(connection: 1, reusable: true, now: at(1)) == [.start(request: 3, connection: 1)])
        #expect(state.finished(connection: 1, reusable: true, now: at(2)) == [.start(request: 4, connection: 1)])
        #expect(state.finished(connection: 1, reusable: true, now: at(3)) == [])
        #expect((state.idleCount, state.busyCount, state.waitingCount) == (1, 0, 0))
    }

    @Test("ends each wait at its own limit")
    func boundedWait() {
        var state = makeOpenState(size: 1)
        _ = state.request(.init(id: 1, until: at(1_000)), now: at(0))
        _ = state.request(.init(id: 2, until: at(500)), now: at(0))
        _ = state.request(.init(id: 3, until: at(200)), now: at(0))
        #expect(state.nextWake == at(200))
        #expect(refused(state.timerFired(now: at(200))) == [3])
        #expect(state.nextWake == at(500))
        #expect(refused(state.timerFired(now: at(499))) == [])
        #expect(refused(state.timerFired(now: at(500))) == [2])
        #expect(state.nextWake == nil)
        #expect(state.waitingCount == 0)
        #expect(state.refusedCount == 2)
    }

    @Test("replaces a connection that cannot be reused")
    func dirty() throws {
        var state = makeOpenState(size: 1)
        _ = state.request(.init(id: 1, until: at(1_000)), now: at(0))
        _ = state.request(.init(id: 2, until: at(1_000)), now: at(0))
        #expect(state.finished(connection: 1, reusable: false, now: at(10)) == [.close(connection: 1)])
        let retry = try #require(state.nextWake)
        #expect(retry >= at(10) && retry <= at(110))
        #expect(state.timerFired(now: retry) == [.open(connection: 2)])
        #expect(state.opened(connection: 2, now: at(150)) == [.start(request: 2, connection: 2)])
    }

    @Test("replaces lost connections once each")
    func lost() throws {
        var state = makeOpenState(size: 3)
        _ = state.request(.init(id: 1, until: at(1_000)), now: at(0))
        for connection in 1...3 { #expect(state.lost(connection: connection, now: at(10)) == []) }
        #expect(state.lost(connection: 3, now: at(10)) == [])
        #expect(state.finished(connection: 3, reusable: false, now: at(11)) == [])
        #expect((state.idleCount, state.busyCount, state.openingCount) == (0, 0, 0))
        #expect(state.lostCount == 3)
        let actions = state.timerFired(now: try #require(state.nextWake))
        #expect(actions == [.open(connection: 4), .open(connection: 5), .open(connection: 6)])
    }

    @Test("rejects all requests after the first failure to connect")
    func away() {
        var state = makeState(size: 2)
        _ = state.start(now: at(0))
        _ = state.request(.init(id: 1, until: at(1_000)), now: at(0))
        #expect(state.openFailed(connection: 1, "refused", now: at(5)) == [.refuse(request: 1, "refused")])
        #expect(state.isUnreachable)
        #expect(state.request(.init(id: 2, until: at(1_000)), now: at(6)) == [.refuse(request: 2, "refused")])
        #expect(state.openFailed(connection: 2, "refused", now: at(7)) == [])
        #expect(state.failedCount == 2)
    }

    @Test("retries with one attempt at a time and exponential back-off")
    func probes() throws {
        var state = makeState(size: 3)
        _ = state.start(now: at(0))
        for connection in 1...3 { _ = state.openFailed(connection: connection, "refused", now: at(0)) }
        var now = at(0)
        for connection in 4...12 {
            let wake = try #require(state.nextWake)
            // Concurrent failures count once, so that the wait stays within a bound that doubles.
            let bound = min(1_000, 100 << (connection - 4))
            #expect(wake - now <= .milliseconds(bound))
            now = wake
            #expect(state.timerFired(now: now) == [.open(connection: connection)])
            #expect(state.request(.init(id: connection, until: now + .seconds(1)), now: now).count == 1)
            _ = state.openFailed(connection: connection, "refused", now: now)
        }
        now = try #require(state.nextWake)
        #expect(state.timerFired(now: now) == [.open(connection: 13)])
        #expect(state.opened(connection: 13, now: now) == [.open(connection: 14), .open(connection: 15)])
        #expect(!state.isUnreachable)
        #expect(state.request(.init(id: 99, until: now), now: now) == [.start(request: 99, connection: 13)])
    }

    @Test("rejects nothing while another connection works")
    func failureBesideLife() {
        var state = makeState(size: 2)
        _ = state.start(now: at(0))
        _ = state.opened(connection: 1, now: at(0))
        _ = state.request(.init(id: 1, until: at(1_000)), now: at(0))
        _ = state.request(.init(id: 2, until: at(1_000)), now: at(0))
        #expect(state.openFailed(connection: 2, "too many connections", now: at(1)) == [])
        #expect(!state.isUnreachable)
        #expect(state.finished(connection: 1, reusable: true, now: at(2)) == [.start(request: 2, connection: 1)])
    }

    @Test("queues requests before the start, within their limit")
    func beforeStart() {
        var state = makeState(size: 1)
        #expect(state.request(.init(id: 1, until: at(100)), now: at(0)) == [])
        #expect(state.start(now: at(1)) == [.open(connection: 1)])
        #expect(state.opened(connection: 1, now: at(2)) == [.start(request: 1, connection: 1)])
    }

    @Test("rejects requests on close, and waits for running ones")
    func closing() {
        var state = makeOpenState(size: 2)
        _ = state.request(.init(id: 1, until: at(1_000)), now: at(0))
        _ = state.request(.init(id: 2, until: at(1_000)), now: at(0))
        _ = state.request(.init(id: 3, until: at(1_000)), now: at(0))
        #expect(state.finished(connection: 1, reusable: true, now: at(1)) == [.start(request: 3, connection: 1)])
        #expect(state.request(.init(id: 4, until: at(1_000)), now: at(1)) == [])
        #expect(refused(state.close(until: at(5_000))) == [4])
        #expect(refused(state.request(.init(id: 5, until: at(1_000)), now: at(2))) == [5])
        #expect(state.finished(connection: 1, reusable: true, now: at(3)) == [.close(connection: 1)])
        #expect(state.finished(connection: 2, reusable: false, now: at(4)) == [.close(connection: 2), .finish])
        #expect(state.close(until: at(6_000)) == [])
    }

    @Test("closes at once when idle, also connections opened too late")
    func closingIdle() {
        var state = makeState(size: 2)
        _ = state.start(now: at(0))
        _ = state.opened(connection: 1, now: at(0))
        #expect(state.close(until: at(5_000)) == [.close(connection: 1), .finish])
        #expect(state.opened(connection: 2, now: at(1)) == [.close(connection: 2)])
    }

    @Test("closes connections whose requests exceed the close timeout")
    func closingLimit() {
        var state = makeOpenState(size: 1)
        _ = state.request(.init(id: 1, until: at(1_000)), now: at(0))
        #expect(state.close(until: at(5_000)) == [])
        #expect(state.nextWake == at(5_000))
        #expect(state.timerFired(now: at(5_000)) == [.close(connection: 1), .finish])
        #expect(state.finished(connection: 1, reusable: true, now: at(5_001)) == [])
    }

    @Test("keeps its invariants over random events")
    func randomWalk() {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<200 {
            var state = makeState(size: Int.random(in: 1...4))
            var open: Set<Int> = []
            var busy: [Int] = []
            var opening: [Int] = []
            var waiting: Set<Int> = []
            var nextWaiter = 0
            var now = start
            func apply(_ actions: [Action]) {
                for action in actions {
                    switch action {
                    case .start(let request, let connection):
                        #expect(open.contains(connection) && !busy.contains(connection))
                        #expect(waiting.remove(request) != nil)
                        busy.append(connection)
                    case .refuse(let request, _), .refuseShare(let request, _): #expect(waiting.remove(request) != nil)
                    case .open(let connection): opening.append(connection)
                    case .close(let connection): open.remove(connection)
                    case .finish: Issue.record("unexpected close of the pool")
                    }
                }
            }
            apply(state.start(now: now))
            for _ in 0..<300 {
                now += .milliseconds(Int.random(in: 0...50))
                switch Int.random(in: 0..<7, using: &generator) {
                case 0, 1:
                    nextWaiter += 1
                    waiting.insert(nextWaiter)
                    apply(state.request(.init(id: nextWaiter, until: now + .milliseconds(200)), now: now))
                case 2:
                    guard !opening.isEmpty else { continue }
                    let connection = opening.removeFirst()
                    if Bool.random() {
                        open.insert(connection)
                        apply(state.opened(connection: connection, now: now))
                    } else {
                        apply(state.openFailed(connection: connection, "refused", now: now))
                    }
                case 3, 4:
                    guard !busy.isEmpty else { continue }
                    let connection = busy.removeFirst()
                    apply(state.finished(connection: connection, reusable: Int.random(in: 0..<4) > 0, now: now))
                case 5:
                    guard let connection = open.randomElement() else { continue }
                    open.remove(connection)
                    busy.removeAll { $0 == connection }
                    apply(state.lost(connection: connection, now: now))
                default:
                    if let request = waiting.randomElement(), Bool.random() {
                        #expect(state.cancel(request) == true)
                        waiting.remove(request)
                    }
                }
                if let wake = state.nextWake, wake <= now { apply(state.timerFired(now: now)) }
                #expect(state.busyCount == busy.count)
                #expect(state.waitingCount == waiting.count)
                #expect(state.idleCount == open.count - busy.count)
                #expect(state.openingCount == opening.count)
                // A missing connection is being opened, or a retry is scheduled.
                let isWhole = open.count == state.size
                #expect(isWhole || !opening.isEmpty || state.nextWake != nil)
            }
        }
    }
}
