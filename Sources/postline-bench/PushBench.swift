import Foundations
import LineClient
import NIOCore
import PrivatePostgres

/// Messages to offline users at a steady pace: the latency of their device pushes to a webhook, and the cost for
/// senders. A node without a provider and one with it alternate.
struct PushBench {
    private static let guests = 10_000
    private static let senders = 20
    private static let pace = 1_000.0

    /// The webhook's response time, since it is rarely on the same machine.
    private static let answerTime = TimeAmount.milliseconds(50)

    /// The time to wait for pushes after the last send.
    private static let waitTimeout = Duration.seconds(15)

    let world: BenchWorld
    let seconds: Int
    let rounds: Int
    let say: @Sendable (String) -> Void

    /// The messages that were pushed, and the number of missing ones.
    private struct Pushed {
        let lags: [Duration]
        let missing: Int
    }

    func run() async throws -> (table: [String], figures: [BenchResult]) {
        say("making \(Self.guests) guests with a device each, which takes a minute or some …")
        let crowd = try await GuestCrowd.make(Self.guests, port: world.port, group: world.threads)
        let conversations = try await acquaint(crowd)
        var comparison = Comparison(
            "\(Int(Self.pace)) messages a second to \(Self.guests) who have no app open, \(rounds) rounds of "
                + "\(length) s each in turn", names: ("pushed", "not pushed"))
        var lags: [Duration] = []
        var missing = 0
        var number = 0
        // The next conversation of each sender, so that messages to one conversation are far apart.
        var place = 0
        while number < rounds {
            number += 1
            var without: PacedSends?
            try await BenchNode.run(on: world.postgres, secret: world.secret) { ports in
                without = try await send(conversations, &place, port: ports.line)
            }
            let (with, pushed) = try await pushedRound(conversations, &place)
            guard let without else { throw BenchError("Nothing was sent.") }
            lags += pushed.lags
            missing += pushed.missing
            say(
                "round \(number): \(Int(without.perSecond))/s without pushes; \(Int(with.perSecond))/s with them, told "
                    + "after p99 \(Percentiles(pushed.lags).text(99)) ms, \(pushed.missing) missing")
            comparison.add(
                BenchRound(perSecond: with.perSecond, latencies: with.latencies),
                BenchRound(perSecond: without.perSecond, latencies: without.latencies))
        }
        let lag = Percentiles(lags)
        return (
            comparison.table + [
                "  from a send's answer to its push: p50 \(lag.text(50)) ms, p99 \(lag.text(99)) ms; \(missing) of "
                    + "\(lag.count + missing) did not come within \(Self.waitTimeout / .seconds(1)) s after the last"
            ],
            [
                BenchResult(
                    name: "push_lag_p99_seconds", value: (lag.milliseconds(99) ?? .infinity) / 1_000, unit: "s",
                    goal: .below(5)),
                BenchResult(name: "push_missing", value: Double(missing), unit: "pushes", goal: .below(1)),
                BenchResult(name: "push_send_ratio", value: comparison.ratio, unit: "ratio", goal: .atLeast(0.95)),
            ]
        )
    }

    /// Long enough to send one message to each of the ten thousand.
    private var length: Int { max(10, seconds) }

    /// Gives each guest a device and a conversation with a sender, by SQL since this is not measured.
    ///
    /// - Returns: the conversations of each sender.
    private func acquaint(_ crowd: GuestCrowd) async throws -> [[String]] {
        let pairs = world.pairs.prefix(Self.senders)
        guard pairs.count == Self.senders else { throw BenchError("There are too few people.") }
        let senders = pairs.map(\.sender.id)
        var conversations: [[String]] = Array(repeating: [], count: senders.count)
        var rows: [String] = []
        for (number, guest) in crowd.guests.enumerated() {
            let conversation = randomUUID()
            let sender = number % senders.count
            conversations[sender].append(conversation)
            rows.append("('\(conversation)', '\(guest.id)', '\(senders[sender])')")
        }
        try await world.postgres.psql(
            """
            begin;
            create table bench.acquaintances (conversation uuid, guest uuid, sender uuid);
            insert into bench.acquaintances values \(rows.joined(separator: ",\n"));
            insert into public.conversations (id, kind, title)
            select a.conversation, 'group', 'Bench' from bench.acquaintances a;
            insert into public.conversation_members (conversation_id, user_id)
            select a.conversation, u from bench.acquaintances a, unnest(array[a.guest, a.sender]) u;
            insert into app.devices (user_id, platform, token, environment)
            select a.guest, 'webhook', 'bench ' || a.guest, 'production' from bench.acquaintances a;
            drop table bench.acquaintances;
            commit;
            vacuum analyze;
            """, database: "postline")
        return conversations
    }

    /// Runs a round at a node that pushes.
    private func pushedRound(
        _ conversations: [[String]], _ place: inout Int
    ) async throws -> (PacedSends, Pushed) {
        // Messages sent while no node pushed are no longer pushed.
        try await world.postgres.psql("delete from app.push_cursor", database: "postline")
        var result: (PacedSends, Pushed)?
        try await WebhookSink.with(answeringAfter: Self.answerTime) { sink in
            let settings = ["POSTLINE_PUSH_WEBHOOK_URL": sink.url, "POSTLINE_PUSH_WEBHOOK_SECRET": world.secret]
            try await BenchNode.run(on: world.postgres, secret: world.secret, environment: settings) { ports in
                try await awaitPusher()
                let sends = try await send(conversations, &place, port: ports.line)
                let end = ContinuousClock.now + Self.waitTimeout
                var pushed = Self.pushed(sends.sent, sink)
                while pushed.missing > 0, .now < end {
                    try await Task.sleep(for: .milliseconds(200))
                    pushed = Self.pushed(sends.sent, sink)
                }
                result = (sends, pushed)
            }
        }
        guard let result else { throw BenchError("Nothing was sent.") }
        return result
    }

    /// Returns once a node has started to send device pushes.
    private func awaitPusher() async throws {
        for _ in 0..<100 {
            let count = try await world.postgres.psql("select count(*) from app.push_cursor", database: "postline")
            if count.hasPrefix("1") { return }
            try await Task.sleep(for: .milliseconds(100))
        }
        throw BenchError("No node pushes.")
    }

    private func send(_ conversations: [[String]], _ place: inout Int, port: Int) async throws -> PacedSends {
        var senders: [PacedSends.Sender] = []
        for (pair, conversations) in zip(world.pairs, conversations) {
            senders.append(
                .init(client: try await world.connect(pair.sender, port: port), conversations: conversations))
        }
        // Warm up caches and plans.
        let first = try await PacedSends.run(senders, pace: Self.pace, for: .seconds(2), first: place)
        place += first.sent.count / senders.count + 1
        let sends = try await PacedSends.run(senders, pace: Self.pace, for: .seconds(length), first: place)
        place += sends.sent.count / senders.count + 1
        for sender in senders { await sender.client.close() }
        return sends
    }

    /// Matches messages with pushes. A message is covered by its own push or by a later one of its conversation.
    private static func pushed(_ sent: [PacedSends.Sent], _ sink: WebhookSink) -> Pushed {
        let arrivals = sink.arrivals
        var lags: [Duration] = []
        for message in sent {
            guard let arrival = arrivals[message.conversation]?.first(where: { $0.seq >= message.seq }) else {
                continue
            }
            lags.append(max(.zero, arrival.time - message.answered))
        }
        return Pushed(lags: lags, missing: sent.count - lags.count)
    }
}
