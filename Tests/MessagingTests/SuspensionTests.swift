import BoundedWait
@testable import DatabaseAccess
import Foundation
import NIOCore
import NIOPosix
import Postgres
import Synchronization
import TestSupport
import Testing
@testable import WireProtocol

/// An event loop as a preferred task executor, like that of a connection.
private final class PreferredLoop: TaskExecutor {
    private let loop: any EventLoop

    init(_ loop: any EventLoop) { self.loop = loop }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        loop.execute { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}

/// The number of answered requests.
private final class AnswerCount: Sendable {
    private let atomic = Atomic(0)

    var count: Int { atomic.load(ordering: .relaxed) }

    func add() { atomic.add(1, ordering: .relaxed) }
}

@Suite("Suspension", .timeLimit(.minutes(10)))
struct SuspensionTests {
    @Test("continuations are created only in withSuspension")
    func onePlace() throws {
        let places = try Repository.files(in: "Sources", endingIn: "swift").filter {
            try Repository.text($0).contains(/with(Checked|Unsafe)(Throwing)?Continuation/)
        }
        #expect(places == ["Sources/Concurrency/Suspension.swift"])
    }

    @Test("row 58b: resumes every caller of concurrent crowds")
    func crowds() async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 2)
        let executors = [PreferredLoop(group.next()), PreferredLoop(group.next())]
        let reactor = Reactor(name: "test")
        let coalescer = RequestCoalescer<Int, Int>(maxBatchSize: .max, on: reactor) { requests throws(ProtocolError) in
            await Task.yield()
            return requests
        }
        let limiter = ConcurrencyLimiter(width: 2, on: reactor)
        let answered = AnswerCount()
        let asked = 200 * 250
        let crowd = Task {
            for _ in 0..<200 {
                await withTaskGroup(of: Void.self) { group in
                    for number in 0..<250 {
                        group.addTask(executorPreference: executors[number % 2]) {
                            guard let reply = try? await coalescer.load(number),
                                let passed = try? await limiter.run({ () throws(ProtocolError) in reply }),
                                passed == number
                            else { return }
                            answered.add()
                        }
                    }
                }
            }
        }
        try await eventually("all to be answered") { answered.count == asked }
        #expect(answered.count == asked)
        crowd.cancel()
        try await group.shutdownGracefully()
    }
}
