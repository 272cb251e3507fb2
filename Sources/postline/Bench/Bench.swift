internal import ArgumentParser
internal import LineClient
internal import PrivatePostgres

/// `postline bench`.
struct Bench: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Measure sends, reads and the way of a change to a client.",
        discussion: """
            Starts a PostgreSQL and a node of its own, and runs beside Postline, in turn and on the same database, \
            pgbench with the very same statements: the ratio says what the service costs. Build with -c release.
            """,
        subcommands: [
            Sends.self, Reads.self, Latency.self, Profiles.self, Logins.self, BackPressure.self, Search.self, All.self,
        ], defaultSubcommand: All.self)

    struct Options: ParsableArguments {
        @Option(help: "How many clients ask at once.")
        var connections = 16

        @Option(help: "How long each round lasts.")
        var seconds = 10

        @Option(help: "How many rounds each side has.")
        var rounds = 3

        @Flag(help: "One JSON object a figure, and nothing else, on standard output.")
        var json = false

        func validate() throws {
            guard 1...256 ~= connections else { throw ValidationError("--connections is between 1 and 256.") }
            guard 1...3600 ~= seconds else { throw ValidationError("--seconds is between 1 and 3600.") }
            guard 1...100 ~= rounds else { throw ValidationError("--rounds is between 1 and 100.") }
        }
    }

    struct Sends: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Messages sent, answered and pushed in a second.")
        @OptionGroup var options: Options
        func run() async throws { try await measure([.sends], options) }
    }

    struct Reads: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Reads of the 50 newest messages in a second.")
        @OptionGroup var options: Options
        func run() async throws { try await measure([.reads], options) }
    }

    struct Latency: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "From the commit of a change to its push.")
        @OptionGroup var options: Options
        func run() async throws { try await measure([.latency], options) }
    }

    struct Profiles: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "From a change of a profile until a thousand contacts on two nodes have it.")
        @OptionGroup var options: Options
        func run() async throws { try await measure([.profiles], options) }
    }

    struct Logins: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "What sign-ins cost those who read.")
        @OptionGroup var options: Options
        func run() async throws { try await measure([.logins], options) }
    }

    struct BackPressure: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "backpressure", abstract: "What sessions that do not read cost those that do, and the node.")
        @OptionGroup var options: Options
        func run() async throws { try await measure([.backPressure], options) }
    }

    struct Search: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Searches among a million profiles.")
        @OptionGroup var options: Options
        func run() async throws { try await measure([.search], options) }
    }

    struct All: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "All of them.")
        @OptionGroup var options: Options
        func run() async throws {
            // The search comes last: it makes the database large.
            try await measure([.latency, .sends, .reads, .profiles, .logins, .backPressure, .search], options)
        }
    }

    enum Measurement {
        case sends
        case reads
        case latency
        case profiles
        case logins
        case backPressure
        case search
    }

    static func measure(_ measurements: [Measurement], _ options: Options) async throws {
        // With --json, standard output belongs to the figures.
        let say: (String) -> Void = { line in
            if options.json { Terminal.writeError(line + "\n") } else { Terminal.write(line + "\n") }
        }
        var figures: [BenchFigure] = []
        func report(_ found: (table: [String], figures: [BenchFigure])) {
            for line in found.table { say(line) }
            figures += found.figures
        }
        do {
            #if DEBUG
            say("This is a debug build: the figures mean little. Build with -c release.")
            #endif
            say("starting a PostgreSQL and a node, and making \(2 * options.connections) people …")
            try await BenchWorld.with(pairs: options.connections) { world in
                for measurement in measurements {
                    switch measurement {
                    case .sends:
                        let (comparison, figure) = try await SendBench(
                            world: world, seconds: options.seconds, rounds: options.rounds, say: say
                        ).run()
                        for line in comparison.table { say(line) }
                        figures.append(figure)
                    case .reads:
                        let (comparison, figure) = try await ReadBench(
                            world: world, seconds: options.seconds, rounds: options.rounds, say: say
                        ).run()
                        for line in comparison.table { say(line) }
                        figures.append(figure)
                    case .latency:
                        report(try await LatencyBench(world: world, seconds: options.seconds, say: say).run())
                    case .profiles:
                        report(try await ProfileBench(world: world, seconds: options.seconds, say: say).run())
                    case .logins:
                        report(
                            try await HashingBench(
                                world: world, seconds: options.seconds, rounds: options.rounds, say: say
                            ).run())
                    case .backPressure:
                        report(
                            try await BackPressureBench(
                                world: world, seconds: options.seconds, rounds: options.rounds, say: say
                            ).run())
                    case .search:
                        report(try await SearchBench(world: world, seconds: options.seconds, say: say).run())
                    }
                    say("")
                }
            }
        } catch let error as PrivatePostgresError {
            throw Failure.say("\(error)", .failure)
        } catch let error as BenchError {
            throw Failure.say("\(error)", .failure)
        } catch let error as RemoteError {
            throw Failure.say("The node answered with an error: \(error)", .failure)
        }
        for figure in figures { Terminal.write((options.json ? figure.json : figure.line) + "\n") }
    }
}
