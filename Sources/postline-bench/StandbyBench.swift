import ChangeFeed
import LineClient
import NIOCore
import PrivatePostgres
import Synchronization
import WireProtocol

/// The load that a standby takes off the primary, and its cost in latency: the same users send, receive and read at an
/// even pace, at a node that reads from a streaming replica and at one that does not, alternating. The replica follows
/// in both cases.
struct StandbyBench {
    private static let people = 16
    private static let sendsPerSecond = 100.0
    private static let listsPerSecond = 200.0
    private static let database = "followed"

    let world: BenchWorld
    let seconds: Int
    let rounds: Int
    let say: @Sendable (String) -> Void

    func run() async throws -> (table: [String], figures: [BenchResult]) {
        try await world.postgres.psql("create database \(Self.database)")
        var pairs: [BenchWorld.Pair] = []
        try await BenchNode.run(on: world.postgres, database: Self.database, secret: world.secret) { ports in
            pairs = try await BenchWorld.makePairs(Self.people, port: ports.line, threads: world.threads)
            try await BenchWorld.describe(pairs, in: world.postgres, database: Self.database)
        }
        let connections = try await world.postgres.psql("show max_connections").filter { !$0.isWhitespace }
        let directory = "\(world.directory)-standby"
        let standby = PrivatePostgres(
            installation: world.installation, directory: directory,
            settings: ["max_connections": connections, "hot_standby_feedback": "on"],
            standbyOf: await world.postgres.url())
        defer { BenchFiles.remove(directory) }
        do {
            try await standby.start()
            let found = try await compare(pairs, standby)
            try await standby.stop(mode: .immediate)
            return found
        } catch {
            try? await standby.stop(mode: .immediate)
            throw error
        }
    }

    private struct Round {
        /// The processor use of each server, in cores.
        let primary: Double
        let standby: Double
        let lists: Percentiles
        /// The time from the start of a send until its receiver has the message.
        let pushes: Percentiles
    }

    private func compare(
        _ pairs: [BenchWorld.Pair], _ standby: PrivatePostgres
    ) async throws -> (table: [String], figures: [BenchResult]) {
        var without: [Round] = []
        var with: [Round] = []
        let url = await standby.url(user: "postline", database: Self.database)
        for number in 1...rounds {
            without.append(try await round(pairs, standby, reading: ""))
            with.append(try await round(pairs, standby, reading: url))
            guard let one = without.last, let two = with.last else { break }
            say(
                "round \(number): the primary has \(BenchResult.text(one.primary, 3)) of a core, "
                    + "and \(BenchResult.text(two.primary, 3)) where a standby is read from")
        }
        func middle(_ rounds: [Round], _ value: (Round) -> Double) -> Double { median(rounds.map(value)) ?? 0 }
        func row(_ name: String, _ rounds: [Round]) -> String {
            "  \(name): of a core the primary has \(BenchResult.text(middle(rounds, \.primary), 3)), "
                + "the standby \(BenchResult.text(middle(rounds, \.standby), 3)); p50 of a list "
                + "\(BenchResult.text(middle(rounds) { $0.lists.milliseconds(50) ?? 0 }, 2)) ms, until a push "
                + "\(BenchResult.text(middle(rounds) { $0.pushes.milliseconds(50) ?? 0 }, 2)) ms"
        }
        return (
            [
                "\(Int(Self.sendsPerSecond)) sends, each pushed, and \(Int(Self.listsPerSecond)) lists of 50 a second, "
                    + "\(rounds) rounds of \(seconds) s each in turn",
                row("all from the primary", without), row("reads from a standby", with),
            ],
            [
                BenchResult(
                    name: "standby_primary_ratio",
                    value: median(zip(with, without).map { $0.primary / $1.primary }) ?? 0, unit: "ratio", goal: nil),
                BenchResult(
                    name: "standby_push_ratio",
                    value: median(
                        zip(with, without).map {
                            ($0.pushes.milliseconds(50) ?? 0) / ($1.pushes.milliseconds(50) ?? .infinity)
                        }) ?? 0, unit: "ratio", goal: nil),
            ]
        )
    }

    /// - Parameter url: the standby's URL for the node, or nothing.
    private func round(
        _ pairs: [BenchWorld.Pair], _ standby: PrivatePostgres, reading url: String
    ) async throws -> Round {
        guard let primaryProcess = await world.postgres.serverProcessID,
            let standbyProcess = await standby.serverProcessID
        else { throw BenchError("A server has ended.") }
        var round: Round?
        try await BenchNode.run(
            on: world.postgres, database: Self.database, secret: world.secret,
            environment: ["POSTLINE_REPLICA_DATABASE_URL": url]
        ) { ports in
            if !url.isEmpty { try await Self.awaitStandby(port: ports.operations) }
            let arrivals = MessageArrivals()
            var senders: [PacedSends.Sender] = []
            var readers: [(LineClient, String)] = []
            for pair in pairs {
                let reader = try await world.connect(pair.receiver, port: ports.line) { arrivals.take($0) }
                readers.append((reader, pair.conversationID))
                let sender = try await world.connect(pair.sender, port: ports.line)
                senders.append(.init(client: sender, conversations: [pair.conversationID]))
            }
            // Warm up caches and plans.
            let before = try await Self.load(senders, readers, for: .seconds(2))
            let start = ContinuousClock.now
            let primary = try ProcessorTime.ofFamily(primaryProcess)
            let replica = try ProcessorTime.ofFamily(standbyProcess)
            let (sends, lists) = try await Self.load(senders, readers, for: .seconds(seconds))
            try await arrivals.tally.reach(before.sends.sent.count + sends.sent.count)
            let elapsed = (ContinuousClock.now - start) / .seconds(1)
            round = Round(
                primary: (try ProcessorTime.ofFamily(primaryProcess) - primary) / elapsed,
                standby: (try ProcessorTime.ofFamily(standbyProcess) - replica) / elapsed,
                lists: lists, pushes: try arrivals.times(of: sends))
            for client in senders.map(\.client) + readers.map(\.0) { await client.close() }
        }
        guard let round else { throw BenchError("A round has no figures.") }
        return round
    }

    /// Returns once the node's feed polls its standby.
    private static func awaitStandby(port: Int) async throws {
        for _ in 0..<300 {
            if try await OperationsClient.figure("postline_feed_polls_standby", port: port) == 1 { return }
            try await Task.sleep(for: .milliseconds(100))
        }
        throw BenchError("The node does not read from its standby.")
    }

    private static func load(
        _ senders: [PacedSends.Sender], _ readers: [(LineClient, String)], for time: Duration
    ) async throws -> (sends: PacedSends, lists: Percentiles) {
        let start = ContinuousClock.now
        let interval = Duration.seconds(1) * Double(readers.count) / listsPerSecond
        return try await withThrowingTaskGroup(of: [Duration].self) { group in
            for (number, (client, conversation)) in readers.enumerated() {
                let begin = start + interval * number / readers.count
                group.addTask {
                    try await read(client, conversation, at: Pace(each: interval, from: begin, until: start + time))
                }
            }
            let sends = try await PacedSends.run(senders, pace: sendsPerSecond, for: time)
            return (sends, Percentiles(try await group.reduce(into: []) { $0 += $1 }))
        }
    }

    private static func read(
        _ client: isolated LineClient, _ conversation: String, at pace: Pace
    ) async throws -> [Duration] {
        var pace = pace
        var latencies: [Duration] = []
        var params = ByteBuffer()
        while let now = try await pace.next() {
            params.clear()
            ReadBench.write(conversationID: conversation, params: &params)
            _ = try await client.answer(to: "messages.list", params)
            latencies.append(.now - now)
        }
        return latencies
    }
}

/// The arrival times of pushed messages.
private final class MessageArrivals: Sendable {
    private let times = Mutex<[String: ContinuousClock.Instant]>([:])
    let tally = Tally()

    func take(_ push: ServerNotification) {
        guard push.method == "changes", let messages = try? push.params()["messages"]?.arrayValue else { return }
        times.withLock { times in
            for message in messages {
                guard let conversation = message["conversation_id"]?.stringValue, let seq = message["seq"]?.integerValue
                else { continue }
                times["\(conversation) \(seq)"] = push.received
            }
        }
        tally.add(messages.count, at: push.received)
    }

    /// Returns the latency of each message from the start of its send.
    func times(of sends: PacedSends) throws -> Percentiles {
        let times = times.withLock { $0 }
        return Percentiles(
            try sends.sent.map { send in
                guard let arrived = times["\(send.conversation) \(send.seq)"] else {
                    throw BenchError("A message was not pushed.")
                }
                return arrived - (send.answered - send.latency)
            })
    }
}
