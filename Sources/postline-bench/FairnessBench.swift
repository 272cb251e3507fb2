import ChangeFeed
import LineClient
import NIOCore
import NIOPosix
import PrivatePostgres
import WireProtocol

/// The cost to other users of one account that sends the most expensive requests that its limits allow, over 250
/// connections: lists of 100 groups of 255, whole syncs, groups, edits in a locked conversation, and gzip pages over
/// HTTP; and of one that sends cheap ones over 60.
struct FairnessBench {
    private static let connections = 250
    private static let cheapConnections = 60
    private static let groups = 100
    private static let groupSize = 255
    private static let victims = 4

    let world: BenchWorld
    let seconds: Int
    let say: @Sendable (String) -> Void

    /// The victims' results in one phase.
    private struct Phase {
        var sends: [Duration] = []
        var syncs: [Duration] = []
        var signIns: [Duration] = []
        var errors: [String: Int] = [:]

        var sendTimes: Percentiles { Percentiles(sends) }

        static func + (one: Phase, other: Phase) -> Phase {
            Phase(
                sends: one.sends + other.sends, syncs: one.syncs + other.syncs, signIns: one.signIns + other.signIns,
                errors: one.errors.merging(other.errors, uniquingKeysWith: +))
        }

        func row(_ name: String) -> String {
            let (sends, syncs, signIns) = (sendTimes, Percentiles(syncs), Percentiles(signIns))
            return "  \(name): sends p50 \(sends.text(50)) ms, p99 \(sends.text(99)) ms; sync.open p99 "
                + "\(syncs.text(99)) ms; sign-ins p99 \(signIns.text(99)) ms; errors \(errors)"
        }
    }

    func run() async throws -> (table: [String], figures: [BenchResult]) {
        guard let offender = world.pairs.last else { throw BenchError("There is nobody to offend.") }
        say("making \(Self.groups) groups of \(Self.groupSize) …")
        try await makeGroups(of: offender.sender)
        var result: (table: [String], figures: [BenchResult])?
        let threads = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let limits = ["POSTLINE_RATE_LIMITS": "on", "POSTLINE_SIGN_INS_PER_MINUTE": "100000"]
        try await BenchNode.run(on: world.postgres, secret: world.secret, environment: limits) { ports in
            result = try await measure(offender, ports, threads)
        }
        try await threads.shutdownGracefully()
        guard let result else { throw BenchError("Nothing was measured.") }
        return result
    }

    private func measure(
        _ offender: BenchWorld.Pair, _ ports: BenchNode.Ports, _ threads: MultiThreadedEventLoopGroup
    ) async throws -> (table: [String], figures: [BenchResult]) {
        // Warm up caches and plans.
        _ = try await runVictims(for: .seconds(1), ports)
        let calm = try await runVictims(for: .seconds(seconds), ports)
        let before = try await OperationsClient.figure(OperationsClient.memory, port: ports.operations)
        let lock = try await lockedMessage(of: offender, ports.line)
        say("\(Self.connections) connections of one account …")
        let (disturbed, offences) = try await disturb(ports, holding: offender.conversationID, Self.connections) {
            await offend($0, as: offender.sender, lock, ports, threads, until: $1)
        }
        let after = try await OperationsClient.figure(OperationsClient.memory, port: ports.operations)
        let ratio = (disturbed.sendTimes.milliseconds(99) ?? .infinity) / (calm.sendTimes.milliseconds(99) ?? 1)
        let growth = max(0, after - before) / 1_000_000
        say("\(Self.cheapConnections) connections with cheap requests …")
        let (crowded, cheapOffences) = try await disturb(ports, holding: nil, Self.cheapConnections) {
            await offendCheaply($0, as: offender, ports, threads, until: $1)
        }
        let cheapRatio = (crowded.sendTimes.milliseconds(99) ?? .infinity) / (calm.sendTimes.milliseconds(99) ?? 1)
        return (
            [
                "\(Self.connections) connections of one account beside \(Self.victims) other users",
                calm.row("undisturbed"), disturbed.row("disturbed"),
                "  the account was answered \(offences) times; the node grew by \(BenchResult.text(growth, 0)) MB",
                crowded.row("\(Self.cheapConnections) connections with cheap requests"),
                "  the account was answered \(cheapOffences) times",
            ],
            [
                BenchResult(name: "fairness_p99_ratio", value: ratio, unit: "ratio", goal: .below(3)),
                BenchResult(
                    name: "fairness_errors",
                    value: Double((disturbed + crowded).errors.values.reduce(0, +)), unit: "errors", goal: .below(1)),
                BenchResult(name: "fairness_cheap_p99_ratio", value: cheapRatio, unit: "ratio", goal: .below(3)),
                BenchResult(name: "fairness_memory", value: growth, unit: "MB", goal: .below(300)),
            ]
        )
    }

    /// Measures the victims beside the offender's connections, and returns how often these were answered.
    ///
    /// - Parameter conversationID: the conversation whose row is locked meanwhile; nil for none.
    private func disturb(
        _ ports: BenchNode.Ports, holding conversationID: String?, _ connections: Int,
        _ offend: @escaping @Sendable (Int, ContinuousClock.Instant) async -> Int
    ) async throws -> (victims: Phase, offences: Int) {
        try await withThrowingTaskGroup(of: Int.self) { group in
            let end = ContinuousClock.now + .seconds(seconds + 3)
            for number in 0..<connections { group.addTask { await offend(number, end) } }
            if let conversationID {
                group.addTask {
                    try await world.postgres.psql(
                        """
                        begin; select from public.conversations where id = '\(conversationID)' for update;
                        select pg_sleep(\(seconds + 2)); rollback
                        """, database: "postline")
                    return 0
                }
            }
            try await Task.sleep(for: .seconds(2))
            let victims = try await runVictims(for: .seconds(seconds), ports)
            return (victims, try await group.reduce(0, +))
        }
    }

    /// Sends requests that need no database until the end, most of them refused. Returns how many were answered.
    private func offendCheaply(
        _ number: Int, as offender: BenchWorld.Pair, _ ports: BenchNode.Ports, _ threads: MultiThreadedEventLoopGroup,
        until end: ContinuousClock.Instant
    ) async -> Int {
        guard let client = try? await world.connect(offender.sender, port: ports.line, group: threads) else { return 0 }
        var count = 0
        while ContinuousClock.now < end {
            switch number % 3 {
            case 0: _ = try? await client.call("server.info")
            case 1: _ = try? await client.call("me.update", ["bio": .string("changed")])
            default:
                _ = try? await client.call(
                    "conversations.typing", ["conversation_id": .string(offender.conversationID)])
            }
            count += 1
        }
        await client.close()
        return count
    }

    /// Inserts the groups without triggers, which is quicker than making them one by one.
    private func makeGroups(of offender: BenchWorld.User) async throws {
        try await world.postgres.psql(
            """
            insert into auth.users (id, is_anonymous) select gen_random_uuid(), true
              from generate_series(1, \(Self.groupSize));
            create temporary table made as
                select gen_random_uuid() as id, n from generate_series(1, \(Self.groups)) n;
            set session_replication_role = replica;
            insert into public.conversations (id, kind, title, created_by)
            select id, 'group', 'Group ' || n, '\(offender.id)' from made;
            insert into public.conversation_members (conversation_id, user_id, role, last_read_seq)
            select m.id, '\(offender.id)', 'owner', 0 from made m;
            insert into public.conversation_members (conversation_id, user_id, role, last_read_seq)
            select m.id, p.id, 'member', 0 from made m,
                   (select p.id from public.user_profiles p where p.is_guest and p.id <> '\(offender.id)'
                     limit \(Self.groupSize - 1)) p;
            set session_replication_role = origin;
            vacuum analyze public.conversation_members;
            """, database: "postline")
    }

    /// Sends the message that the offender edits later.
    private func lockedMessage(of offender: BenchWorld.Pair, _ port: Int) async throws -> JSONObject {
        let client = try await world.connect(offender.sender, port: port)
        let sent = try await client.call(
            "messages.send", ["conversation_id": .string(offender.conversationID), "content": .string("edited")])
        await client.close()
        return [
            "conversation_id": .string(offender.conversationID), "seq": .integer(sent["seq"]?.integerValue ?? 1),
            "content": .string("edited again"),
        ]
    }

    /// Sends requests of one kind until the end. Returns how many were answered, errors included.
    private func offend(
        _ number: Int, as user: BenchWorld.User, _ lockedMessage: JSONObject, _ ports: BenchNode.Ports,
        _ threads: MultiThreadedEventLoopGroup, until end: ContinuousClock.Instant
    ) async -> Int {
        var count = 0
        if number % 5 == 4 {
            guard
                let client = try? await HTTPClient.connect(
                    port: ports.http, accessToken: user.accessToken, group: threads, acceptsGzip: true)
            else { return 0 }
            while ContinuousClock.now < end {
                // A refusal pauses this client's loop, and does not end the measurement.
                if (try? await client.answer(to: "conversations.list", ByteBuffer(string: #"{"limit":100}"#))) == nil {
                    try? await Task.sleep(for: .milliseconds(100))
                }
                count += 1
            }
            await client.close()
            return count
        }
        guard let client = try? await world.connect(user, port: ports.line, group: threads) else { return 0 }
        while ContinuousClock.now < end {
            do {
                switch number % 5 {
                case 0: _ = try await client.call("conversations.list", ["limit": .integer(100)])
                case 1: _ = try await client.call("sync.open", ["live": .bool(false)])
                case 2: _ = try await client.call("messages.edit", lockedMessage)
                default:
                    let others = world.pairs.map { JSON.string($0.receiver.id) }
                    _ = try await client.call(
                        "conversations.create_group", ["title": .string("More"), "member_ids": .array(others)])
                }
            } catch {
                try? await Task.sleep(for: .milliseconds(100))
            }
            count += 1
        }
        await client.close()
        return count
    }

    /// Users who send, open a sync and sign in, one after another.
    private func runVictims(for time: Duration, _ ports: BenchNode.Ports) async throws -> Phase {
        let end = ContinuousClock.now + time
        return try await withThrowingTaskGroup(of: Phase.self) { group in
            for (number, pair) in world.pairs.prefix(Self.victims).enumerated() {
                group.addTask { try await victim(number, pair, ports.line, until: end) }
            }
            return try await group.reduce(Phase(), +)
        }
    }

    private func victim(
        _ number: Int, _ pair: BenchWorld.Pair, _ port: Int, until end: ContinuousClock.Instant
    ) async throws -> Phase {
        var phase = Phase()
        let client = try await world.connect(pair.sender, port: port)
        var round = 0
        while ContinuousClock.now < end {
            await note(in: &phase, \.sends) {
                _ = try await client.call(
                    "messages.send", ["conversation_id": .string(pair.conversationID), "content": .string("fair")])
            }
            if round % 10 == 0 {
                await note(in: &phase, \.syncs) { _ = try await client.call("sync.open", ["live": .bool(false)]) }
            }
            if round % 20 == number {
                await note(in: &phase, \.signIns) {
                    let other = try await LineClient.connect(host: "127.0.0.1", port: port, group: world.threads)
                    _ = try await other.call(
                        "auth.login",
                        [
                            "email": .string("sender\(number)@bench.example"), "password": .string(BenchWorld.password),
                        ])
                    await other.close()
                }
            }
            round += 1
            // Stay within the user's rate limit.
            try await Task.sleep(for: .milliseconds(60))
        }
        await client.close()
        return phase
    }

    private func note(
        in phase: inout Phase, _ times: WritableKeyPath<Phase, [Duration]>, _ work: () async throws -> Void
    ) async {
        let start = ContinuousClock.now
        do {
            try await work()
            phase[keyPath: times].append(.now - start)
        } catch {
            phase.errors[(error as? RemoteError)?.code ?? "connection", default: 0] += 1
        }
    }
}
