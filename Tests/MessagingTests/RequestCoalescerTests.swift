import BoundedWait
@testable import DatabaseAccess
import Postgres
import Testing
@testable import WireProtocol

@Suite("Request coalescer", .timeLimit(.minutes(10)))
struct RequestCoalescerTests {
    /// A database whose calls wait until the test resumes them.
    private actor Held {
        private(set) var calls: [[Int]] = []
        private var held: [CheckedContinuation<Void, Never>] = []
        private var isOpen = false

        func call(_ requests: [Int]) async {
            calls.append(requests)
            if !isOpen { await withCheckedContinuation { held.append($0) } }
        }

        func open() {
            isOpen = true
            for call in held { call.resume() }
            held = []
        }
    }

    /// Sends a request that is echoed. Returns the code of an error, or nil.
    private func code(
        _ coalescer: RequestCoalescer<Int, Int>, _ request: Int, sourceLocation: SourceLocation = #_sourceLocation
    ) async -> ErrorCode? {
        do throws(ProtocolError) {
            let reply = try await coalescer.load(request)
            #expect(reply == request, sourceLocation: sourceLocation)
            return nil
        } catch {
            return error.code
        }
    }

    @Test("shares the next call among requests that wait")
    func shared() async throws {
        let held = Held()
        let coalescer = RequestCoalescer<Int, Int>(maxBatchSize: 60, on: Reactor(name: "test")) {
            requests throws(ProtocolError) in
            await held.call(requests)
            return requests.map { $0 * 2 }
        }
        let replies = try await withThrowingTaskGroup(of: (Int, Int).self) { group in
            group.addTask { (0, try await coalescer.load(0)) }
            try await eventually("the first call") { await !held.calls.isEmpty }
            for number in 1...100 { group.addTask { (number, try await coalescer.load(number)) } }
            try await eventually("all to wait") { await coalescer.waitingCount == 100 }
            await held.open()
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(replies.count == 101)
        for (number, reply) in replies { #expect(reply == number * 2) }
        let calls = await held.calls
        #expect(calls.map(\.count) == [1, 60, 40])
        #expect(calls.flatMap(\.self).sorted() == Array(0...100))
    }

    @Test("times out waiting requests without a call")
    func waitTimeout() async throws {
        let held = Held()
        let coalescer = RequestCoalescer<Int, Int>(maxBatchSize: 2, waitTimeout: .zero, on: Reactor(name: "test")) {
            requests throws(ProtocolError) in
            await held.call(requests)
            return requests
        }
        let late = try await withThrowingTaskGroup(of: ErrorCode?.self) { group in
            group.addTask { await code(coalescer, 0) }
            try await eventually("the first call") { await !held.calls.isEmpty }
            for number in 1...100 { group.addTask { await code(coalescer, number) } }
            try await eventually("all to wait") { await coalescer.waitingCount == 100 }
            await held.open()
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(late.count { $0 == .unavailable } == 100)
        #expect(await held.calls == [[0]])
        #expect(try await coalescer.load(7) == 7)
    }

    @Test("fails only the requests of a failed call")
    func failures() async throws {
        let held = Held()
        let coalescer = RequestCoalescer<Int, Int>(maxBatchSize: .max, on: Reactor(name: "test")) {
            requests throws(ProtocolError) in
            await held.call(requests)
            guard requests == [0] || requests == [3] else { throw .unavailable }
            return requests
        }
        let codes = try await withThrowingTaskGroup(of: ErrorCode?.self) { group in
            group.addTask { await code(coalescer, 0) }
            try await eventually("the first call") { await !held.calls.isEmpty }
            for number in 1...2 { group.addTask { await code(coalescer, number) } }
            try await eventually("all to wait") { await coalescer.waitingCount == 2 }
            await held.open()
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(codes.count { $0 == .unavailable } == 2)
        #expect(try await coalescer.load(3) == 3)
    }

    @Test("a cancelled client ends no call")
    func cancelled() async throws {
        let held = Held()
        let coalescer = RequestCoalescer<Int, Int>(maxBatchSize: .max, on: Reactor(name: "test")) {
            requests throws(ProtocolError) in
            await held.call(requests)
            if Task.isCancelled { throw .unavailable }
            return requests
        }
        let first = Task { await code(coalescer, 0) }
        try await eventually("the first call") { await !held.calls.isEmpty }
        let second = Task { await code(coalescer, 1) }
        try await eventually("the second to wait") { await coalescer.waitingCount == 1 }
        let third = Task { await code(coalescer, 2) }
        try await eventually("the third to wait") { await coalescer.waitingCount == 2 }
        // The second would make the next call.
        first.cancel()
        second.cancel()
        await held.open()
        for client in [first, second, third] { #expect(await client.value == nil) }
        #expect(await held.calls == [[0], [1, 2]])
    }
}
