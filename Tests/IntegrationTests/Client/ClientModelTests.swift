import BoundedWait
import Foundation
import Postline
import PrivatePostgres
import Testing

/// A model test that kills apps, nodes and PostgreSQL.
@Suite("Client model test", .timeLimit(.minutes(20)))
struct ClientModelTests {
    @Test(
        "row 69: under kills and cuts, queued writes arrive once and stores equal the database",
        arguments: seeds)
    func model(_ seed: UInt64) async throws {
        try await withPrivateServer { postgres, database in
            var random = SeededRandom(seed)
            let (port, httpPort) = (try await unusedPort(), try await unusedPort())
            let environment = ["POSTLINE_HTTP_PORT": "\(httpPort)", "POSTLINE_RATE_LIMITS": "off"]
            var node = try await ServeProcess.start(database, port: port, environment: environment)
            let people = [Person.alice, .bob, .carol]
            var apps: [ClientProcess] = []
            // Two libraries, side by side: which one a person uses changes with the seed.
            let libraries = ClientProcess.Library.allCases
            for (index, person) in people.enumerated() {
                let library = libraries[(index + Int(seed)) % libraries.count]
                var app = try ClientProcess(library, linePort: port, httpPort: httpPort)
                try await app.request("signIn", ["email": .string(person.email), "password": "postline-dev"])
                apps.append(app)
            }
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
                let room = rooms[people[index]]?.randomElement(using: &random) ?? Room.alps
                switch random.choose([
                    (60, 0), (8, 1), (4, 2), (8, 3), (6, 4), (4, 5), (4, 6), (5, 7), (2, 8), (1, 9), (1, 10), (8, 11),
                    (4, 12), (6, 13), (8, 14), (6, 15),
                ]) {
                case 0:
                    try apps[index].send(
                        "send", ["conversation": .string(room), "text": .string("step \(step) of seed \(seed)")])
                case 1:
                    try apps[index].send(
                        "edit", ["conversation": .string(room), "text": .string("edited at \(step)")])
                case 2: try apps[index].send("delete", ["conversation": .string(room)])
                case 3: try apps[index].send("markRead", ["conversation": .string(room)])
                case 4: try apps[index].send("updateProfile", ["fields": ["bio": .string("at \(step)")]])
                case 5: try apps[index].send("disconnect")
                case 6: try apps[index].send("connect")
                case 7:
                    try await apps[index].kill()
                    try apps[index].relaunch()
                case 8:
                    try await node.kill()
                    node = try await ServeProcess.start(database, port: port, environment: environment)
                case 9:
                    try await postgres.stop(mode: .immediate)
                    try await postgres.start()
                case 11:
                    let emoji = ["👍", "🎉", "lake"].randomElement(using: &random) ?? "👍"
                    try apps[index].send(
                        "react",
                        [
                            "conversation": .string(room), "emoji": .string(emoji),
                            "is_set": .bool(random.chance(70)),
                        ])
                case 12:
                    try apps[index].send(
                        "pin", ["conversation": .string(room), "is_pinned": .bool(random.chance(70))])
                case 13:
                    let name = ["is_marked_unread", "is_archived", "is_pinned"].randomElement(using: &random) ?? ""
                    try apps[index].send(
                        "set", ["conversation": .string(room), "settings": [name: .bool(random.chance(60))]])
                case 14:
                    let user = people.randomElement(using: &random) ?? .alice
                    try apps[index].send(
                        "reply",
                        [
                            "conversation": .string(room), "text": .string("step \(step) of seed \(seed)"),
                            "mentions": [.string(user.id)],
                        ])
                case 15 where people[index] != .alice:
                    // Bob and Carol share only a group, so that no message is refused.
                    let other = people[index] == .bob ? Person.carol : .bob
                    try apps[index].send(random.chance(60) ? "block" : "unblock", ["user": .string(other.id)])
                case 15: break
                default:
                    try await postgres.stop(mode: .fast)
                    try await postgres.start()
                }
                // Some steps follow immediately, others after a pause.
                if random.chance(30) {
                    try await Task.sleep(for: .milliseconds(Int.random(in: 0..<60, using: &random)))
                }
            }
            for index in apps.indices {
                try apps[index].send("connect")
                try apps[index].send("networkChanged")
            }
            for index in apps.indices { try await apps[index].waitUntilEqual(to: database, discardsRefused: true) }
            let queued = apps.flatMap(\.sentIDs)
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
}
