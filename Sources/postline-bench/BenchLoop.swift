import Concurrency
import LineClient
import NIOCore

/// A client of a measurement. It runs on its connection's thread.
protocol BenchClient: Actor {
    /// The preferred executor of its task.
    nonisolated var executor: LoopExecutor { get }

    /// Sends a request with params as JSON text, and returns the result as JSON text.
    func answer(to method: String, _ params: ByteBuffer) async throws -> ByteBuffer
}

extension LineClient: BenchClient {}

/// Clients that each send one request after another for some time.
enum BenchLoop {
    /// - Parameter write: writes the params of a request of the client with this text.
    static func run<Client: BenchClient>(
        _ clients: [(Client, String)], for time: Duration, method: String,
        _ write: @escaping @Sendable (String, inout ByteBuffer) -> Void
    ) async throws -> BenchRound {
        let start = ContinuousClock.now
        let end = start + time
        let latencies = try await withThrowingTaskGroup(of: [Duration]?.self) { group in
            for (client, text) in clients {
                group.addTask(executorPreference: client.executor) {
                    try await ask(client, until: end, method) { write(text, &$0) }
                }
            }
            // A request without a response must not block the measurement forever.
            group.addTask {
                try? await Task.sleep(until: end + .seconds(30))
                return nil
            }
            var all: [Duration] = []
            for _ in clients {
                guard let some = try await group.next() ?? nil else {
                    throw BenchError("A request was not answered within 30 seconds.")
                }
                all += some
            }
            group.cancelAll()
            return all
        }
        let elapsed = (ContinuousClock.now - start) / .seconds(1)
        return BenchRound(perSecond: Double(latencies.count) / elapsed, latencies: Percentiles(latencies))
    }

    /// Runs on the client's thread, so that requests and responses need no thread change.
    private static func ask<Client: BenchClient>(
        _ client: isolated Client, until end: ContinuousClock.Instant, _ method: String,
        _ write: (inout ByteBuffer) -> Void
    ) async throws -> [Duration] {
        var latencies: [Duration] = []
        var params = ByteBuffer()
        var now = ContinuousClock.now
        while now < end {
            params.clear()
            write(&params)
            _ = try await client.answer(to: method, params)
            let done = ContinuousClock.now
            latencies.append(done - now)
            now = done
        }
        return latencies
    }
}
