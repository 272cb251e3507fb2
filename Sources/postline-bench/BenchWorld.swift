import LineClient
import NIOCore
import NIOPosix
import PrivatePostgres
import WireProtocol

/// A private database and node with default settings, and pairs of users who exchange messages.
struct BenchWorld: Sendable {
    /// Two users who share a conversation.
    struct Pair: Sendable {
        let sender: User
        let receiver: User
        let conversationID: String
    }

    struct User: Sendable {
        let id: String
        let accessToken: String
        /// The token's claims, as the service passes them to the database.
        let claims: String
    }

    /// The password of all users.
    static let password = "postline-bench"

    let postgres: PrivatePostgres
    let installation: PostgresInstallation
    let port: Int
    /// The node's HTTP port.
    let httpPort: Int
    /// The node's operations port.
    let operationsPort: Int
    /// The signing secret of all nodes.
    let secret: String
    let directory: String
    let pairs: [Pair]
    /// One thread for all clients, since they share the machine with the server.
    let threads: MultiThreadedEventLoopGroup

    /// Starts everything, runs `body`, and removes everything.
    static func with(pairs count: Int, _ body: (BenchWorld) async throws -> Void) async throws {
        let installation = try await PostgresInstallation.find()
        let directory = BenchFiles.temporaryDirectory
        let postgres = PrivatePostgres(
            installation: installation, directory: directory, settings: ["max_connections": "\(100 + count)"])
        try await postgres.start()
        let threads = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        var failure: (any Error)?
        do {
            try await postgres.psql("create database postline")
            let secret = randomUUID() + randomUUID()
            try await BenchNode.run(on: postgres, secret: secret) { ports in
                let pairs = try await makePairs(count, port: ports.line, threads: threads)
                try await describe(pairs, in: postgres)
                try await body(
                    BenchWorld(
                        postgres: postgres, installation: installation, port: ports.line, httpPort: ports.http,
                        operationsPort: ports.operations, secret: secret, directory: directory, pairs: pairs,
                        threads: threads))
            }
        } catch {
            failure = error
        }
        try? await threads.shutdownGracefully()
        try? await postgres.stop(mode: .immediate)
        BenchFiles.remove(directory)
        if let failure { throw failure }
    }

    /// Connects and signs in, and with `onPush` follows all changes live.
    ///
    /// - Parameter port: the node's port; by default that of this world's node.
    func connect(
        _ user: User, port: Int? = nil, group: MultiThreadedEventLoopGroup? = nil,
        onPush: (@Sendable (ServerNotification) -> Void)? = nil
    ) async throws -> LineClient {
        let client = try await LineClient.connect(
            host: "127.0.0.1", port: port ?? self.port, group: group ?? threads, onPush: onPush)
        _ = try await client.call("session.authenticate", ["access_token": .string(user.accessToken)])
        if onPush != nil { _ = try await client.call("sync.open", ["messages_per_conversation": .integer(0)]) }
        return client
    }

    static func makePairs(
        _ count: Int, port: Int, threads: MultiThreadedEventLoopGroup
    ) async throws -> [Pair] {
        // Four at a time: each registration occupies a core with hashing.
        var pairs: [Pair] = []
        var next = 0
        while next < count {
            let batch = next..<min(next + 4, count)
            next = batch.upperBound
            try await withThrowingTaskGroup(of: Pair.self) { group in
                for number in batch {
                    group.addTask { try await makePair(number, port: port, threads: threads) }
                }
                for try await pair in group { pairs.append(pair) }
            }
        }
        return pairs
    }

    private static func makePair(
        _ number: Int, port: Int, threads: MultiThreadedEventLoopGroup
    ) async throws -> Pair {
        func register(_ role: String) async throws -> (LineClient, User) {
            let client = try await LineClient.connect(host: "127.0.0.1", port: port, group: threads)
            let tokens = try await client.call(
                "auth.register",
                [
                    "email": .string("\(role)\(number)@bench.example"), "password": .string(password),
                    "full_name": .string("Bench \(role) \(number)"),
                ])
            guard let id = tokens["user_id"]?.stringValue, let token = tokens["access_token"]?.stringValue,
                let claims = claims(of: token)
            else { throw BenchError("A registration gave no tokens.") }
            return (client, User(id: id, accessToken: token, claims: claims))
        }
        let (client, sender) = try await register("sender")
        let (other, receiver) = try await register("receiver")
        let conversation = try await client.call("conversations.open", ["user_id": .string(receiver.id)])
        await client.close()
        await other.close()
        guard let id = conversation["id"]?.stringValue else { throw BenchError("A conversation has no id.") }
        return Pair(sender: sender, receiver: receiver, conversationID: id)
    }

    /// Assigns users to pgbench's clients, and fills each conversation: plans made for empty tables differ from those
    /// of a running service.
    static func describe(
        _ pairs: [Pair], in postgres: PrivatePostgres, database: String = "postline"
    ) async throws {
        let rows = pairs.enumerated().map { number, pair in
            "(\(number), $claims$\(pair.sender.claims)$claims$, '\(pair.conversationID)')"
        }
        try await postgres.psql(
            """
            create schema bench;
            create table bench.clients (n integer primary key, claims text, conversation uuid);
            insert into bench.clients values \(rows.joined(separator: ",\n"));
            insert into public.messages (conversation_id, sender_id, content)
            select c.conversation, (c.claims::json ->> 'sub')::uuid, 'Message ' || number
              from bench.clients c, generate_series(1, 200) number;
            vacuum analyze;
            """, database: database)
    }

    /// Returns the payload of a token. The service has signed and verified it.
    private static func claims(of token: String) -> String? {
        let parts = token.split(separator: ".")
        guard parts.count == 3 else { return nil }
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
        var bytes: [UInt8] = []
        var bits = 0
        var value = 0
        for byte in parts[1].utf8 {
            guard let digit = alphabet.firstIndex(of: byte) else { return nil }
            value = value << 6 | digit
            bits += 6
            if bits >= 8 {
                bits -= 8
                bytes.append(UInt8(value >> bits & 0xFF))
                value &= (1 << bits) - 1
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
