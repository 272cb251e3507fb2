import BoundedWait
@testable import DatabaseAccess
import Foundations
import Postgres
import Testing
@testable import WireProtocol

@Suite("Concurrency limiter", .timeLimit(.minutes(10)))
struct ConcurrencyLimiterTests {
    /// The admitted callers, which wait until the test releases them.
    private actor AdmittedCallers {
        private(set) var entered: [Int] = []
        private var inside: [CheckedContinuation<Void, Never>] = []

        var count: Int { inside.count }

        func stay(_ number: Int) async {
            entered.append(number)
            await withCheckedContinuation { inside.append($0) }
        }

        func letOneOut() { inside.removeFirst().resume() }
    }

    @Test("admits up to its width, then in order of arrival")
    func order() async throws {
        let admitted = AdmittedCallers()
        let limiter = ConcurrencyLimiter(width: 2, on: Reactor(name: "test"))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<10 {
                group.addTask { try await limiter.run { () throws(ProtocolError) in await admitted.stay(number) } }
                try await eventually("\(number) to be inside or in line") {
                    await admitted.entered.count + limiter.waitingCount == number + 1
                }
            }
            for left in 1...10 {
                try await eventually("those who may to be inside") { await admitted.count == min(2, 11 - left) }
                #expect(await admitted.entered.count == min(10, left + 1))
                await admitted.letOneOut()
            }
            try await group.waitForAll()
        }
        #expect(await admitted.entered == Array(0..<10))
    }

    @Test("times out waiting callers and admits later ones")
    func waitTimeout() async throws {
        let admitted = AdmittedCallers()
        let limiter = ConcurrencyLimiter(width: 1, waitTimeout: .zero, on: Reactor(name: "test"))
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await limiter.run { () throws(ProtocolError) in await admitted.stay(0) } }
            try await eventually("the first to be inside") { await !admitted.entered.isEmpty }
            group.addTask {
                let error = await #expect(throws: ProtocolError.self) {
                    try await limiter.run { () throws(ProtocolError) in await admitted.stay(1) }
                }
                #expect(error?.code == .unavailable)
            }
            try await eventually("the second to be in line") { await limiter.waitingCount == 1 }
            await admitted.letOneOut()
            try await group.waitForAll()
        }
        #expect(try await limiter.run { () throws(ProtocolError) in 7 } == 7)
        #expect(await admitted.entered == [0])
    }

    // A3
    @Test("bounds the share of a client", arguments: [2, 4])
    func shares(width: Int) async throws {
        let admitted = AdmittedCallers()
        let limiter = ConcurrencyLimiter(width: width, share: 1, on: Reactor(name: "test"))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<20 {
                group.addTask {
                    try await limiter.run(for: "offender") { () throws(ProtocolError) in await admitted.stay(number) }
                }
                try await eventually("the others to wait") {
                    await admitted.entered.count + limiter.waitingCount > number
                }
            }
            #expect(await admitted.entered == [0])
            group.addTask {
                try await limiter.run(for: "other") { () throws(ProtocolError) in await admitted.stay(100) }
            }
            try await eventually("two to be inside") { await admitted.count >= 2 }
            #expect(await admitted.entered == [0, 100])
            for _ in 0..<21 {
                try await eventually("somebody to be inside") { await admitted.count > 0 }
                await admitted.letOneOut()
            }
            try await group.waitForAll()
        }
    }

    @Test("bounds the share of an address")
    func groupShares() async throws {
        let admitted = AdmittedCallers()
        let limiter = ConcurrencyLimiter(width: 2, groupShare: 1, on: Reactor(name: "test"))
        func owner(_ number: Int, at address: String) -> RequestOwner {
            RequestOwner("user \(number)", in: .users(AddressKey(address)))
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<5 {
                group.addTask {
                    try await limiter.run(for: owner(number, at: "192.0.2.1")) { () throws(ProtocolError) in
                        await admitted.stay(number)
                    }
                }
                try await eventually("the others to wait") {
                    await admitted.entered.count + limiter.waitingCount > number
                }
            }
            #expect(await admitted.entered == [0])
            let other = try await limiter.run(for: owner(9, at: "192.0.2.2")) { () throws(ProtocolError) in 9 }
            #expect(other == 9)
            for left in 1...5 {
                try await eventually("the next to be inside") { await admitted.entered.count == left }
                await admitted.letOneOut()
            }
            try await group.waitForAll()
        }
        #expect(await admitted.entered == Array(0..<5))
    }

    @Test("does not begin the work of a cancelled caller")
    func cancellation() async throws {
        let admitted = AdmittedCallers()
        let limiter = ConcurrencyLimiter(width: 1, on: Reactor(name: "test"))
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await limiter.run { () throws(ProtocolError) in await admitted.stay(0) } }
            try await eventually("the first to be inside") { await admitted.count == 1 }
            let cancelled = Task { try await limiter.run { () throws(ProtocolError) in await admitted.stay(1) } }
            try await eventually("the second to be in line") { await limiter.waitingCount == 1 }
            cancelled.cancel()
            await admitted.letOneOut()
            await #expect(throws: ProtocolError.self) { try await cancelled.value }
            try await group.waitForAll()
        }
        #expect(try await limiter.run { () throws(ProtocolError) in 7 } == 7)
        #expect(await admitted.entered == [0])
    }

    // A3
    @Test("rejects a client with a full queue, and no other")
    func fullQueue() async throws {
        let admitted = AdmittedCallers()
        let limiter = ConcurrencyLimiter(width: 2, share: 1, on: Reactor(name: "test"))
        let most = ConcurrencyLimiter.maxWaiting
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0...most {
                group.addTask {
                    try await limiter.run(for: "offender") { () throws(ProtocolError) in await admitted.stay(number) }
                }
            }
            try await eventually("the others to wait") { await admitted.count + limiter.waitingCount > most }
            let error = await #expect(throws: ProtocolError.self) {
                try await limiter.run(for: "offender") { () throws(ProtocolError) in 1 }
            }
            #expect(error?.code == .rateLimited)
            #expect(try await limiter.run(for: "other") { () throws(ProtocolError) in 2 } == 2)
            for _ in 0...most {
                try await eventually("somebody to be inside") { await admitted.count > 0 }
                await admitted.letOneOut()
            }
            try await group.waitForAll()
        }
    }
}
