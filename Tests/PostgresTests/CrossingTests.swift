import Synchronization
import Testing

@testable import Postgres

extension DatabaseTests {
    @Suite struct CrossingTests {
        private static let one = Call(Statement("one", "select 1"))

        /// The hops per request that `withTaskCancellationHandler` adds in debug builds, where it is not inlined.
        private static let handlerHops = _isDebugAssertConfiguration() ? 3 : 0

        @Test("changes threads twice per request and resumes the caller once")
        func twoCrossings() async throws {
            let executor = CountingExecutor()
            let requests = 100
            try await TestDatabase.withPool(.patient(size: 2)) { pool in
                let enqueued = try await Task(executorPreference: executor) {
                    try await PinnedActor(executor).run(pool, Self.one, times: requests)
                }.value
                // Fewer if the pool completed before the caller suspended.
                #expect(enqueued <= (1 + Self.handlerHops) * requests)
            }
        }

        @Test("resumes queued requests once, each with its own result")
        func waiting() async throws {
            let executor = CountingExecutor()
            let requests = 100
            let caller = PinnedActor(executor)
            try await TestDatabase.withPool(.patient(size: 1)) { pool in
                _ = try await pool.value("select 1")
                let before = executor.enqueued
                try await withThrowingTaskGroup(of: Bool.self) { group in
                    for number in 0..<requests {
                        group.addTask(executorPreference: executor) {
                            try await caller.echo(pool, number) == "\(number)"
                        }
                    }
                    for try await isOwn in group { #expect(isOwn) }
                }
                // The start of the task, the result, and the return from the caller's isolation.
                #expect(executor.enqueued - before <= (3 + Self.handlerHops) * requests)
            }
        }
    }
}

/// An actor isolated to the preferred executor of its tasks, like a session.
private actor PinnedActor {
    private nonisolated let executor: CountingExecutor

    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }

    init(_ executor: CountingExecutor) { self.executor = executor }

    /// Runs the call several times, and returns the number of jobs enqueued meanwhile.
    func run(_ pool: Pool, _ call: Call, times: Int) async throws -> Int {
        // Connects and prepares.
        for _ in 0..<4 { _ = try await pool.run([call]) }
        let before = executor.enqueued
        for _ in 0..<times { _ = try await pool.run([call]) }
        return executor.enqueued - before
    }

    /// Returns the number as echoed by the database.
    func echo(_ pool: Pool, _ number: Int) async throws -> String? {
        try await pool.run([Call(Statement("echo", "select $1::text"), ["\(number)"])])[0].text(0, 0)
    }
}

/// A preferred executor that counts its jobs.
private final class CountingExecutor: SerialExecutor, TaskExecutor {
    private let thread = Reactor(name: "callers")
    private let count = Atomic(0)

    var enqueued: Int { count.load(ordering: .relaxed) }

    func enqueue(_ job: consuming ExecutorJob) {
        count.add(1, ordering: .relaxed)
        let job = UnownedJob(job)
        thread.submit {
            unsafe job.runSynchronously(
                isolatedTo: self.asUnownedSerialExecutor(), taskExecutor: self.asUnownedTaskExecutor())
        }
    }
}
