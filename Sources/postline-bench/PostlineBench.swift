import ArgumentParser
import LineClient
import LineServer
import Logging
import PrivatePostgres
import SystemPackage

/// `postline-bench`, a separate program so that the server ships no measuring code.
@main
struct PostlineBench: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "postline-bench",
        abstract: "Measure Postline, and beside it pgbench, nats-server and a bare C program.",
        discussion: """
            Starts a PostgreSQL and a node of its own. Peers run beside Postline, in turn and on the same machine: a \
            ratio says what the service costs. docs/performance.md explains the figures. Build with -c release.

              sends         messages sent, answered and pushed in a second, beside pgbench
              talk          two people who talk in one conversation, beside pgbench
              details       lists of messages with replies, mentions and reactions, and what a reaction costs
              streams       messages that stream in a hundred conversations, and what a piece costs
              reads         reads of the 50 newest messages in a second, beside pgbench
              latency       from a change by SQL to its push, beside a bare C program that listens
              fanout        one change to a thousand members, beside nats-server
              deliveries    messages written by SQL, delivered to a thousand members in a second
              nodes         the same people at one node and at two
              standby       what a node that reads from a streaming replica takes off the primary
              http          the same over HTTP, WebSocket and server-sent events as over the line protocol
              client        the Swift package's start offline, its return, and a change until it is shown
              growth        sends, reads and syncs in a database with a million messages
              crowd         ten thousand idle sessions, and their return at once to a restarted node
              presence      ten thousand come online, until who knows them all is told; typing, between two nodes
              push          a thousand messages a second to who has no app open, and what pushes cost sends
              media         pictures into the node's folder, beside nginx, and what a hundred at once cost sends
              upload        the same with files of 100 MiB, two at once
              profiles      from a change of a profile until a thousand contacts on two nodes have it
              logins        what sign-ins cost those who read
              backpressure  what sessions that do not read cost those that do, and the node
              fairness      what 250 connections of one account that ask for the most cost other users
              search        searches among a million profiles
              history       an export of 100,000 messages, and the expiry of a million, beside sends
              search-messages  searches among a million messages (--messages)
              hotpaths      what the service computes itself: framing, envelope, cursor, fan-out
              all           all of them but the next
              steady        an hour (--minutes) of sends at a steady pace (--rate a second), sampled each half minute: \
            latencies, memory, dead rows, bytes a message, and whether they grow; --svg FILE draws it
            """)

    enum Measurement: String, CaseIterable, ExpressibleByArgument {
        case hotpaths, latency, sends, talk, reads, nodes, standby, fanout, deliveries, profiles, logins, backpressure,
            crowd
        case http, client, presence, push, media, upload, details, streams, fairness, growth
        // Last, since it makes the database large.
        case search
        case history
        case searchMessages = "search-messages"
        case steady
        case all
    }

    @Argument(help: "What to measure.")
    var measurements: [Measurement] = [.all]

    @Option(help: "How many clients ask at once in sends and reads; without it, 16, and 64 too in sends.")
    var connections: Int?

    @Option(help: "How long each round lasts.")
    var seconds = 6

    @Option(help: "How many rounds each side has.")
    var rounds = 3

    @Option(help: "How many messages search-messages makes.")
    var messages = 1_000_000

    @Option(help: "How many words the filter of messages has, none of which are sent.")
    var filterWords = 0

    @Option(help: "How long steady takes.")
    var minutes = 60

    @Option(help: "How many messages a second steady sends.")
    var rate = 200

    @Option(help: "Where steady draws its run, as SVG.", completion: .file(extensions: ["svg"]))
    var svg: String?

    @Flag(help: "One JSON object a figure, and nothing else, on standard output.")
    var json = false

    // The mode in which this program runs itself as a separate process (`ClientBench.growth`).
    @Option(help: .private) var clientStore: String?
    @Option(help: .private) var clientChat: String?

    func validate() throws {
        guard 1...256 ~= connections ?? 1 else { throw ValidationError("--connections is between 1 and 256.") }
        guard 1...3600 ~= seconds else { throw ValidationError("--seconds is between 1 and 3600.") }
        guard 3...1440 ~= minutes else { throw ValidationError("--minutes is between 3 and 1440.") }
        guard 1...10_000 ~= rate else { throw ValidationError("--rate is between 1 and 10000.") }
        guard 1...100 ~= rounds else { throw ValidationError("--rounds is between 1 and 100.") }
    }

    func run() async throws {
        if let clientStore, let clientChat {
            let bytes = try await ClientBench.growth(opening: clientStore, chat: clientChat)
            return Self.write("\(bytes)", to: .standardOutput)
        }
        // With --json, standard output contains only results.
        let say: @Sendable (String) -> Void = { [json] line in
            Self.write(line, to: json ? .standardError : .standardOutput)
        }
        #if DEBUG
        say("This is a debug build: the figures mean little. Build with -c release.")
        #endif
        DescriptorLimit.raise(forConnections: 12_000, logger: Logger(label: "bench"))
        let chosen = Measurement.allCases.filter {
            // The measurement that takes an hour must be named.
            $0 != .all && (measurements.contains($0) || measurements.contains(.all) && $0 != .steady)
        }
        let steps = connections.map { [$0] } ?? [16, 64, 1]
        let pairs = max(
            chosen.contains(.streams) ? StreamBench.people : 20,
            chosen.contains(.sends) ? PgBench.mostClients + (steps.max() ?? 0) : connections ?? 0)
        var figures: [BenchResult] = []
        do {
            say("starting a PostgreSQL and a node, and making \(2 * pairs) people …")
            try await BenchWorld.with(pairs: pairs) { world in
                if filterWords > 0 {
                    try await world.postgres.psql(
                        """
                        insert into app.filter_rules (scope, word, action)
                        select 'messages', translate(n::text, '0123456789', 'qwxzvjkyfg') || 'q', 'refuse'
                          from generate_series(1, \(filterWords)) n
                        """, database: "postline")
                }
                for measurement in chosen {
                    let (table, found) = try await measure(measurement, in: world, steps, say)
                    for line in table { say(line) }
                    say("")
                    figures += found
                }
            }
        } catch let error as PrivatePostgresError {
            throw Self.failure("\(error)")
        } catch let error as BenchError {
            throw Self.failure("\(error)")
        } catch let error as RemoteError {
            throw Self.failure("The node answered with an error: \(error)")
        }
        for figure in figures { Self.write(json ? figure.json : figure.line, to: .standardOutput) }
    }

    /// Written directly, since `print` buffers output to a pipe.
    private static func write(_ line: String, to output: FileDescriptor) {
        _ = try? output.writeAll((line + "\n").utf8)
    }

    private static func failure(_ sentence: String) -> ExitCode {
        write("postline-bench: \(sentence)", to: .standardError)
        return .failure
    }

    private func measure(
        _ measurement: Measurement, in world: BenchWorld, _ steps: [Int], _ say: @escaping @Sendable (String) -> Void
    ) async throws -> (table: [String], figures: [BenchResult]) {
        switch measurement {
        case .sends:
            var all: (table: [String], figures: [BenchResult]) = ([], [])
            for count in steps {
                let (table, figures) = try await SendBench(
                    world: world, connections: count, seconds: seconds, rounds: rounds, say: say
                ).run()
                all.table += table
                all.figures += figures
            }
            return all
        case .talk: return try await TalkBench(world: world, seconds: seconds, rounds: rounds, say: say).run()
        case .reads:
            return try await ReadBench(
                world: world, connections: steps[0], seconds: seconds, rounds: rounds, say: say
            ).run()
        case .media:
            return try await MediaBench(
                load: .pictures, world: world, seconds: seconds, rounds: rounds, say: say
            ).run()
        case .upload:
            return try await MediaBench(load: .files, world: world, seconds: seconds, rounds: rounds, say: say).run()
        case .details: return try await DetailsBench(world: world, seconds: seconds, rounds: rounds, say: say).run()
        case .streams: return try await StreamBench(world: world, seconds: seconds, rounds: rounds, say: say).run()
        case .latency: return try await LatencyBench(world: world, seconds: seconds, say: say).run()
        case .fanout: return try await FanoutBench(world: world, seconds: seconds, rounds: rounds, say: say).run()
        case .deliveries: return try await DeliveryBench(world: world, seconds: seconds, say: say).run()
        case .nodes: return try await TwoNodeBench(world: world, seconds: seconds, rounds: rounds, say: say).run()
        case .standby: return try await StandbyBench(world: world, seconds: seconds, rounds: rounds, say: say).run()
        case .growth: return try await GrowthBench(world: world, seconds: seconds, rounds: rounds, say: say).run()
        case .crowd: return try await CrowdBench(world: world, seconds: seconds, say: say).run()
        case .http: return try await HTTPBench(world: world, seconds: seconds, rounds: rounds, say: say).run()
        case .client: return try await ClientBench(world: world, say: say).run()
        case .presence: return try await PresenceBench(world: world, seconds: seconds, say: say).run()
        case .push: return try await PushBench(world: world, seconds: seconds, rounds: rounds, say: say).run()
        case .profiles: return try await ProfileBench(world: world, seconds: seconds, say: say).run()
        case .logins: return try await HashingBench(world: world, seconds: seconds, rounds: rounds, say: say).run()
        case .backpressure:
            return try await BackPressureBench(world: world, seconds: seconds, rounds: rounds, say: say).run()
        case .fairness: return try await FairnessBench(world: world, seconds: seconds, say: say).run()
        case .search: return try await SearchBench(world: world, seconds: seconds, say: say).run()
        case .history:
            return try await HistoryBench(world: world, seconds: seconds, say: say).run()
        case .searchMessages:
            return try await MessageSearchBench(
                world: world, seconds: seconds, messages: messages, say: say
            ).run()
        case .hotpaths: return try Microbenchmarks().run()
        case .steady:
            return try await SoakBench(
                world: world, minutes: minutes, rate: Double(rate), file: svg, say: say
            ).run()
        case .all: return ([], [])
        }
    }
}
