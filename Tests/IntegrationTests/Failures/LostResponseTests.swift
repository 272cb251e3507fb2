import Foundation
import LineClient
import NIOCore
import Testing
import WireProtocol

@Suite("Lost responses", .timeLimit(.minutes(20)))
struct LostResponseTests {
    /// The number of responses that each test loses.
    private static let answers = 50

    @Test("row 24: a retry after a lost COMMIT response is the same message")
    func database() async throws {
        try await TestDatabase.with { database in
            let directory = FileManager.default.temporaryDirectory.appending(
                path: "postline-relay-\(UInt32.random(in: 0 ... .max))")
            try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: directory) }
            let socket = ".s.PGSQL.5432"
            try await LossyRelay.with(
                listening: SocketAddress(unixDomainSocketPath: directory.appending(path: socket).path),
                to: SocketAddress(unixDomainSocketPath: "\(database.socketDirectory)/\(socket)"),
                // ReadyForQuery: everything up to the Sync is committed or rolled back.
                isWhole: { $0.readableBytesView.dropLast().suffix(5).elementsEqual([UInt8(ascii: "Z"), 0, 0, 0, 5]) }
            ) { relay in
                var settings = NodeSettings()
                settings.databaseURL = database.url.replacing(database.socketDirectory, with: directory.path)
                settings.listenDatabaseURL = database.url
                try await withNode(database, settings) { node in
                    let bob = try await node.signedIn(.bob)
                    try await bob.sync()
                    let alice = try await node.signedIn(.alice)
                    for number in 0..<Self.answers {
                        let params = Self.params(number)
                        relay.loseAnswer(to: "lost \(number).")
                        try await alice.refused(.unavailable, "messages.send", params)
                        #expect(relay.lost == number + 1)
                        // The send was executed nevertheless.
                        #expect(try await database.value(Self.stored) == "\(number + 1)")
                        let message = try await alice.untilAvailable("messages.send", params)
                        #expect(message["seq"]?.integerValue == 91 + number)
                    }
                    try await Self.expectEachOnce(bob, database)
                }
            }
        }
    }

    @Test("row 24: a retry after a lost node response is the same message")
    func node() async throws {
        try await withNode { node in
            try await LossyRelay.with(
                listening: SocketAddress(ipAddress: "127.0.0.1", port: 0),
                to: SocketAddress(ipAddress: "127.0.0.1", port: node.port),
                isWhole: { String(buffer: $0).contains(#""result""#) }
            ) { relay in
                let port = try #require(relay.address.port)
                let bob = try await node.signedIn(.bob)
                try await bob.sync()
                var alice = try await TestClient.connect(port: port)
                let tokens = try await alice.logIn(Person.alice.email)
                for number in 0..<Self.answers {
                    let params = Self.params(number)
                    relay.loseAnswer(to: "lost \(number).")
                    do {
                        let answer = try await alice.call("messages.send", params)
                        Issue.record("the answer was not lost: \(answer.text)")
                    } catch is ConnectionError {}
                    #expect(relay.lost == number + 1)
                    #expect(try await node.database.value(Self.stored) == "\(number + 1)")
                    alice = try await TestClient.connect(port: port)
                    try await alice.authenticate(tokens)
                    #expect(try await alice.call("messages.send", params)["seq"]?.integerValue == 91 + number)
                }
                try await Self.expectEachOnce(bob, node.database)
            }
        }
    }

    private static func params(_ number: Int) -> JSONObject {
        [
            "conversation_id": .string(Room.aliceBob), "content": .string("lost \(number)."),
            "client_id": .string(UUID().uuidString.lowercased()),
        ]
    }

    private static let stored =
        "select count(*) from public.messages where conversation_id = '\(Room.aliceBob)' and seq > 90"

    /// Expects each message once, in the database and with the client that it was pushed to.
    private static func expectEachOnce(_ watcher: TestClient, _ database: TestDatabase) async throws {
        #expect(try await database.value(stored) == "\(answers)")
        #expect(try await watcher.pushesUpTo("end", on: database).isEmpty == false)
        #expect(await watcher.state.arrivals[Room.aliceBob]?.filter { $0 > 90 } == Array(91...90 + answers))
        #expect(
            await watcher.state.contents(Room.aliceBob).suffix(answers) == (0..<answers).map { "lost \($0)." }[...])
    }
}
