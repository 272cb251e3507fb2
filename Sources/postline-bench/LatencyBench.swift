import LineClient
import Postgres
import PrivatePostgres
import WireProtocol

/// The time from a change by SQL to its push at a client, compared with the notification of the same changes at a bare
/// C program that listens.
struct LatencyBench {
    let world: BenchWorld
    let seconds: Int
    let say: @Sendable (String) -> Void

    func run() async throws -> (table: [String], figures: [BenchResult]) {
        guard let pair = world.pairs.first else { throw BenchError("There is nobody to watch.") }
        let (pushes, sink) = AsyncStream.makeStream(of: ServerNotification.self)
        let watcher = try await world.connect(pair.receiver) { sink.yield($0) }
        let reactor = Reactor(name: "bench")
        let url = await world.postgres.url(database: "postline")
        let database = try await Connection.open(url, on: reactor)
        var sinceCommit: [Duration] = []
        var sinceSent: [Duration] = []
        var sent: [Int64] = []
        let heard = try await NotifyPeer.run(url: url, channel: "postline", capacity: 1_000_000) {
            let update = Statement("rename", "update public.user_profiles set full_name = $1 where id = $2::uuid")
            var incoming = pushes.makeAsyncIterator()
            let end = ContinuousClock.now + .seconds(seconds)
            while ContinuousClock.now < end {
                let name = "Renamed \(sent.count)"
                let start = ContinuousClock.now
                sent.append(NotifyPeer.now)
                _ = try await database.run([Call(update, [name, pair.sender.id])], deadline: .seconds(5))
                let committed = ContinuousClock.now
                let received = try await Self.arrival(of: name, in: &incoming)
                // A push may arrive before the commit's response.
                sinceCommit.append(max(.zero, received - committed))
                sinceSent.append(received - start)
                // A random pause, to be independent of periodic tasks of the service.
                try await Task.sleep(for: .microseconds(Int.random(in: 0...10_000)))
            }
            let stop = Statement("stop", "select pg_notify('postline', 'stop')")
            _ = try await database.run([Call(stop, [])], deadline: .seconds(5))
        }
        await database.close()
        await watcher.close()
        guard heard.count == sent.count else {
            throw BenchError("Of \(sent.count) changes the bare program heard \(heard.count).")
        }
        let bare = Percentiles(zip(heard, sent).map { .nanoseconds($0 - $1) })
        let commit = Percentiles(sinceCommit)
        let total = Percentiles(sinceSent)
        func times(_ times: Percentiles) -> String {
            "p50 \(times.text(50)) ms, p95 \(times.text(95)) ms, p99 \(times.text(99)) ms"
        }
        return (
            [
                "A profile changed by SQL, \(commit.count) times, until a client that shares a conversation is told",
                "  from the statement: \(times(total))",
                "  from the commit:    \(times(commit))",
                "and until a bare C program that listens is notified",
                "  from the statement: \(times(bare))",
            ],
            [
                BenchResult(
                    name: "notify_latency_ratio",
                    value: (total.milliseconds(50) ?? 0) / (bare.milliseconds(50) ?? .infinity), unit: "ratio",
                    goal: .below(2)),
                BenchResult(name: "notify_p50_ms", value: commit.milliseconds(50) ?? 0, unit: "ms", goal: nil),
                BenchResult(
                    name: "notify_p99_ms", value: commit.milliseconds(99) ?? 0, unit: "ms", goal: .below(5)),
                BenchResult(
                    name: "notify_p99_ratio",
                    value: (total.milliseconds(99) ?? 0) / (bare.milliseconds(99) ?? .infinity), unit: "ratio",
                    goal: .below(2)),
            ]
        )
    }

    /// Returns the arrival time of the push with this name.
    private static func arrival(
        of name: String, in pushes: inout AsyncStream<ServerNotification>.Iterator
    ) async throws -> ContinuousClock.Instant {
        while let push = await pushes.next(isolation: #isolation) {
            guard push.method == "changes" else { continue }
            let profiles = try push.params()["profiles"]?.arrayValue ?? []
            if profiles.contains(where: { $0["full_name"]?.stringValue == name }) { return push.received }
        }
        throw BenchError("The connection was lost.")
    }
}
