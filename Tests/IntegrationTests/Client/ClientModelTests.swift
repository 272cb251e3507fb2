import BoundedWait
import Foundation
import PrivatePostgres
import Testing

/// A model test that kills apps, nodes and PostgreSQL.
@Suite("Client model test", .timeLimit(.minutes(60)))
struct ClientModelTests {
    @Test(
        "row 69: under kills and cuts, queued writes arrive once and stores equal the database",
        arguments: seeds)
    func model(_ seed: UInt64) async throws {
        try await withPrivateServer { postgres, database in
            var random = SeededRandom(seed)
            var node = try await ServeProcess.start(database)
            let port = node.port
            var apps: [App] = []
            for person in [Person.alice, .bob, .carol] { apps.append(try await App.start(person, port: port)) }
            defer {
                for app in apps { app.end() }
                node.command.signal(SIGKILL)
            }
            let rooms: [Person: [String]] = [
                .alice: [Room.alps, Room.aliceBob, Room.aliceCarol], .bob: [Room.alps, Room.aliceBob],
                .carol: [Room.alps, Room.aliceCarol],
            ]
            for step in 0..<steps {
                let index = Int.random(in: 0..<apps.count, using: &random)
                let room = rooms[apps[index].person]?.randomElement(using: &random) ?? Room.alps
                switch random.choose([
                    (60, 0), (8, 1), (4, 2), (8, 3), (6, 4), (4, 5), (4, 6), (5, 7), (2, 8), (1, 9), (1, 10),
                ]) {
                case 0: try apps[index].type("send \(room) step \(step) of seed \(seed)")
                case 1: try apps[index].type("edit \(room) edited at \(step)")
                case 2: try apps[index].type("delete \(room)")
                case 3: try apps[index].type("read \(room)")
                case 4: try apps[index].type("bio at-\(step)")
                case 5: try apps[index].type("offline")
                case 6: try apps[index].type("online")
                case 7: apps[index] = try await apps[index].killed()
                case 8:
                    try await node.kill()
                    node = try await ServeProcess.start(database, port: port)
                case 9:
                    try await postgres.stop(mode: .immediate)
                    try await postgres.start()
                default:
                    try await postgres.stop(mode: .fast)
                    try await postgres.start()
                }
                // Some steps follow immediately, others after a pause.
                if random.chance(30) {
                    try await Task.sleep(for: .milliseconds(Int.random(in: 0..<60, using: &random)))
                }
            }
            for app in apps {
                try app.type("online")
                try app.type("path")
            }
            for app in apps { try await app.waitUntilEqual(to: database) }
            let queued = apps.flatMap(\.queued)
            let kept = try await database.column("select client_id from messages where client_id is not null")
            #expect(
                Set(kept.compactMap { $0 }).isSuperset(of: queued), "\(Set(queued).subtracting(kept.compactMap { $0 }))"
            )
            let doubled = try await database.column(
                "select content from messages where content like 'step%' group by content having count(*) > 1")
            #expect(doubled.isEmpty)
            #expect(queued.count > steps / 4)
        }
    }

    private static let environment = ProcessInfo.processInfo.environment

    /// The seeds, from 1 on.
    private static let seeds = (0..<UInt64(environment["POSTLINE_TEST_CLIENT_SEEDS"].flatMap { Int($0) } ?? 2)).map {
        $0 + 1
    }
    private let steps = Self.environment["POSTLINE_TEST_CLIENT_STEPS"].flatMap { Int($0) } ?? 250

    /// An app in a separate process.
    private struct App {
        let person: Person
        let port: Int
        let folder: String
        let command: Command
        /// The ids that earlier processes on this device queued.
        var before: [String] = []

        static func start(
            _ person: Person, port: Int, folder: String? = nil, before: [String] = []
        ) async throws -> App {
            let folder =
                folder
                ?? FileManager.default.temporaryDirectory.appending(path: "postline-app-\(UUID().uuidString)").path
            let command = try Command(
                [folder, "\(port)", person.email, "postline-dev"], of: try Command.executable("client-program").path)
            try await command.waitForOutput("ready\n")
            return App(person: person, port: port, folder: folder, command: command, before: before)
        }

        func type(_ line: String) throws { try command.type(line) }

        /// The ids of all messages that the app reported as queued.
        var queued: [String] {
            before
                + command.output.split(separator: "\n").filter { $0.hasPrefix("queued ") }.map {
                    String($0.dropFirst(7))
                }
        }

        /// Kills the app and launches it again on the same device.
        func killed() async throws -> App {
            command.signal(SIGKILL)
            _ = try await command.exit()
            return try await Self.start(person, port: port, folder: folder, before: queued)
        }

        func end() {
            command.signal(SIGKILL)
            try? FileManager.default.removeItem(atPath: folder)
        }

        private struct PrintedSnapshot: Decodable, Equatable {
            struct Conversation: Decodable, Equatable {
                var id: String
                var unread: Int
                var last: Int
                var people: [String]
                var messages: [String]
            }

            var live: Bool
            var waiting: Int
            var conversations: [Conversation]
        }

        /// Waits until the app shows the same data as the database for its user.
        func waitUntilEqual(to database: TestDatabase) async throws {
            var number = 0
            var difference = ""
            do {
                try await eventually("\(person) to equal the database") {
                    number += 1
                    try type("snapshot \(number)")
                    try await command.waitForOutput("snapshot \(number) ", then: "\n")
                    let text = command.output.components(separatedBy: "snapshot \(number) ").last ?? ""
                    let line = text.prefix { $0 != "\n" }
                    let shown =
                        line.hasPrefix("{")
                        ? try JSONDecoder().decode(PrintedSnapshot.self, from: Data(line.utf8)) : nil
                    let kept = try await expected(database)
                    difference = "\(line)\nbut:\n\(kept)"
                    guard let shown, shown.live, shown.waiting == 0 else { return false }
                    return shown.conversations.sorted { $0.id < $1.id } == kept
                }
            } catch let error as TimeoutError {
                throw TimeoutError(description: "\(error.description):\n\(difference)\n\(command.errors)")
            }
        }

        private func expected(_ database: TestDatabase) async throws -> [PrintedSnapshot.Conversation] {
            let json = try await database.value(
                """
                select coalesce(jsonb_agg(jsonb_build_object(
                    'id', c.id, 'unread', c.last_seq - m.last_read_seq, 'last', c.last_seq,
                    'people', (select jsonb_agg(p.id || ' ' || coalesce(p.bio, '-') order by p.id::text)
                        from conversation_members o join user_profiles p on p.id = o.user_id
                        where o.conversation_id = c.id),
                    'messages', (select coalesce(jsonb_agg(
                        x.seq || ' ' || x.sender_id || ' ' || coalesce(x.content, '-') order by x.seq), '[]')
                        from messages x where x.conversation_id = c.id)
                ) order by c.id::text), '[]')
                from conversations c join conversation_members m on m.conversation_id = c.id
                where m.user_id = '\(person.id)'
                """)
            return try JSONDecoder().decode([PrintedSnapshot.Conversation].self, from: Data((json ?? "[]").utf8))
        }
    }
}
