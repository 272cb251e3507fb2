internal import LineClient
internal import Messaging
internal import Postgres
internal import PrivatePostgres

/// How long it takes from the commit of a change, made beside the service by SQL, to its push at a client.
struct LatencyBench {
    let world: BenchWorld
    let seconds: Int
    let say: (String) -> Void

    func run() async throws -> (table: [String], figures: [BenchFigure]) {
        guard let pair = world.pairs.first else { throw BenchError("There is nobody to watch.") }
        let (pushes, sink) = AsyncStream.makeStream(of: ServerNotification.self)
        let watcher = try await world.connect(pair.receiver) { sink.yield($0) }
        let reactor = Reactor(name: "bench")
        let database = try await Connection.open(await world.postgres.url(database: "postline"), on: reactor)
        let update = Statement("rename", "update public.user_profiles set full_name = $1 where id = $2::uuid")
        var incoming = pushes.makeAsyncIterator()
        var sinceCommit: [Duration] = []
        var sinceSent: [Duration] = []
        let end = ContinuousClock.now + .seconds(seconds)
        var number = 0
        while ContinuousClock.now < end {
            number += 1
            let name = "Renamed \(number)"
            let sent = ContinuousClock.now
            _ = try await database.run([Call(update, [name, pair.sender.id])], deadline: .seconds(5))
            let committed = ContinuousClock.now
            let received = try await Self.arrival(of: name, in: &incoming)
            // A push may be read before the commit's own answer is.
            sinceCommit.append(max(.zero, received - committed))
            sinceSent.append(received - sent)
            // Out of step with whatever beats in the service.
            try await Task.sleep(for: .microseconds(Int.random(in: 0...10_000)))
        }
        await database.close()
        await watcher.close()
        let commit = Percentiles(sinceCommit)
        let total = Percentiles(sinceSent)
        say("\(commit.count) changes")
        return (
            [
                "A profile changed by SQL, \(commit.count) times, until a client that shares a conversation is told",
                "  from the commit:    p50 \(commit.text(50)) ms, p95 \(commit.text(95)) ms, p99 \(commit.text(99)) ms",
                "  from the statement: p50 \(total.text(50)) ms, p95 \(total.text(95)) ms, p99 \(total.text(99)) ms",
            ],
            [
                BenchFigure(
                    name: "notify_p50_ms", value: commit.milliseconds(50) ?? 0, unit: "ms", goal: .below(10)),
                BenchFigure(
                    name: "notify_p99_ms", value: commit.milliseconds(99) ?? 0, unit: "ms", goal: .below(50)),
            ]
        )
    }

    /// When the push came that carries this name.
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
