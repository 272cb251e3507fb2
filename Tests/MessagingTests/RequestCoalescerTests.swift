import BoundedWait
import Postgres
import Testing

@testable import Messaging

@Suite("Questions asked together", .timeLimit(.minutes(10)))
struct RequestCoalescerTests {
    /// A database whose calls wait until the test lets them go on.
    private actor Held {
        private(set) var calls: [[Int]] = []
        private var held: [CheckedContinuation<Void, Never>] = []
        private var isOpen = false

        func call(_ questions: [Int]) async {
            calls.append(questions)
            if !isOpen { await withCheckedContinuation { held.append($0) } }
        }

        func open() {
            isOpen = true
            for call in held { call.resume() }
            held = []
        }
    }

    /// Asks, and expects the question itself for a reply; the code of the error where there is one.
    private func code(
        _ coalescer: RequestCoalescer<Int, Int>, _ question: Int, sourceLocation: SourceLocation = #_sourceLocation
    ) async -> ErrorCode? {
        do throws(ProtocolError) {
            let reply = try await coalescer.load(question)
            #expect(reply == question, sourceLocation: sourceLocation)
            return nil
        } catch {
            return error.code
        }
    }

    @Test("those that come while a call is under way share the next ones, and each gets its own reply")
    func shared() async throws {
        let held = Held()
        let coalescer = RequestCoalescer<Int, Int>(mostAtOnce: 60, on: Reactor(name: "test")) {
            questions throws(ProtocolError) in
            await held.call(questions)
            return questions.map { $0 * 2 }
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

    @Test("who has waited too long is told so, and no call is made for it")
    func waitTimeout() async throws {
        let held = Held()
        let coalescer = RequestCoalescer<Int, Int>(mostAtOnce: 2, waitTimeout: .zero, on: Reactor(name: "test")) {
            questions throws(ProtocolError) in
            await held.call(questions)
            return questions
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

    @Test("a call that fails fails for those who shared it alone")
    func failures() async throws {
        let held = Held()
        let coalescer = RequestCoalescer<Int, Int>(mostAtOnce: .max, on: Reactor(name: "test")) {
            questions throws(ProtocolError) in
            await held.call(questions)
            guard questions == [0] || questions == [3] else { throw .unavailable }
            return questions
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
}
