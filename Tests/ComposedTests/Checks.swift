import BoundedWait
import LineClient
import WireProtocol

extension Check {
    static let spread = Check(sentence: "F6: one port reaches every node, and each says hello") { system in
        let before = try await system.values("postline_connections")
        try await withClients(4 * system.nodes.count, at: system.lines) { clients in
            for client in clients {
                try expect(client.hello.protocolVersion == 1, "a hello of protocol \(client.hello.protocolVersion)")
            }
            let after = try await system.values("postline_connections")
            try expect(zip(before, after).allSatisfy { $0 < $1 }, "connections were \(before), and then \(after)")
        }
    }

    static let liveAcrossNodes = Check(
        sentence: "a message reaches members on every node once, and nobody else"
    ) { system in
        try await ComposeClient.with(6, at: system.lines) { visitors in
            let stranger = visitors[5]
            let members = visitors.dropLast()
            let before = try await system.values("postline_events_sent_total")
            let group = try await visitors[0].group(with: members.dropFirst())
            for (number, member) in members.enumerated() { try await member.send("message \(number)", to: group) }
            for member in members { try await member.waitUntilHeld("all messages") { $0.contents[group]?.count == 5 } }
            // Changes arrive in commit order, so an earlier leak would have arrived before this one.
            let own = try await stranger.group(with: [visitors[0]])
            try await stranger.send("alone", to: own)
            try await stranger.waitUntilHeld("its own message") { $0.contents[own] == [1: "alone"] }
            try expect(await stranger.held.contents.count == 1, "a stranger received messages of members")
            let after = try await system.values("postline_events_sent_total")
            try expect(zip(before, after).allSatisfy { $0 < $1 }, "pushes were \(before), and then \(after)")
        }
    }

    static let resumed = Check(
        sentence: "a client that reconnects to any node receives exactly what it missed"
    ) { system in
        try await ComposeClient.with(2, at: system.lines) { visitors in
            let (sender, receiver) = (visitors[0], visitors[1])
            let group = try await sender.group(with: [receiver])
            let (series, label) = ("postline_request_duration_seconds_count", #"method="session.authenticate""#)
            let before = try await system.values(series, label)
            var (rounds, wasEverywhere) = (0, false)
            // The balancer returns the client to the same node unless other clients have connected to it meanwhile.
            while rounds < 10 || !wasEverywhere, rounds < 100 {
                try await withClients(rounds % 4, at: system.lines) { _ in
                    let reconnects = await receiver.reconnects
                    await receiver.disconnect()
                    for number in 0..<15 { try await sender.send("message \(rounds * 15 + number)", to: group) }
                    try await receiver.waitForReconnect(after: reconnects)
                }
                rounds += 1
                wasEverywhere = zip(before, try await system.values(series, label)).allSatisfy { $0 < $1 }
            }
            try expect(wasEverywhere, "the client returned to one node only, in \(rounds) rounds")
            let count = rounds * 15
            try await receiver.waitUntilHeld("all \(count) messages") { $0.contents[group]?.count == count }
            let contents = await receiver.held.contents[group]
            try expect(contents?.keys.max() == count, "the last message is number \(contents?.keys.max() ?? 0)")
            for (seq, content) in contents ?? [:] {
                try expect(content == "message \(seq - 1)", "message \(seq) says: \(content)")
            }
            let reconnects = await receiver.reconnects
            try expect(reconnects > 1, "the client reconnected \(reconnects) times")
        }
    }

    static let writtenBySQL = Check(sentence: "F3, F6: writes of psql are pushed by every node") { system in
        try await ComposeClient.with(4, at: system.lines) { visitors in
            let group = try await visitors[0].group(with: visitors.dropFirst())
            let id = await visitors[0].userID
            let before = try await system.values("postline_events_sent_total")
            try await system.sql("update public.user_profiles set full_name = 'Renamed by SQL' where id = '\(id)'")
            for client in visitors.dropFirst() {
                try await client.waitUntilHeld("the new name") { $0.names[id] == "Renamed by SQL" }
            }
            try await system.sql(
                """
                insert into public.messages (conversation_id, sender_id, content) values ('\(group)', '\(id)', 'By SQL')
                """)
            for client in visitors {
                try await client.waitUntilHeld("the message") { $0.contents[group] == [1: "By SQL"] }
            }
            let after = try await system.values("postline_events_sent_total")
            try expect(zip(before, after).allSatisfy { $0 < $1 }, "pushes were \(before), and then \(after)")
        }
    }

    static let addressesAreTheClients = Check(
        sentence: "address limits apply to the client's address, not the balancer's"
    ) { system in
        try await withClients(4 * system.nodes.count, at: system.linesElsewhere) { clients in
            let before = try await system.values("postline_rate_limited_total")
            try await withClients(4 * system.nodes.count, at: system.lines) { others in
                // As many clients through the same balancer, so that both addresses reach every node.
                for other in others {
                    try await within("the bound of the address") {
                        try await exhaust(clients)
                    }
                    // More attempts than the address regains meanwhile, so that a shared limit would refuse one of
                    // them.
                    for _ in 0..<3 {
                        let code = try await attempt(other)
                        try expect(code == "invalid_credentials", "from another address: \(code)")
                    }
                }
            }
            let after = try await system.values("postline_rate_limited_total")
            try expect(zip(before, after).allSatisfy { $0 < $1 }, "not every node reached its bound: \(after)")
        }
    }

    /// Signs in on all clients at once until each is rate-limited by its address.
    private static func exhaust(_ clients: [LineClient]) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for client in clients {
                group.addTask { while try await attempt(client) != "rate_limited" {} }
            }
            try await group.waitForAll()
        }
    }

    /// Signs in to an account that does not exist, so that only the address's limit applies. Returns the error code.
    private static func attempt(_ client: LineClient) async throws -> String {
        let email = "\(UInt64.random(in: 0 ... .max))@example.com"
        do {
            _ = try await client.call("auth.login", ["email": .string(email), "password": .string("no password")])
            return "nothing"
        } catch let error as RemoteError {
            return error.code
        }
    }

    /// Runs a body with unauthenticated connections.
    private static func withClients(
        _ count: Int, at address: ComposedSystem.Address, _ body: ([LineClient]) async throws -> Void
    ) async throws {
        var clients: [LineClient] = []
        do {
            for _ in 0..<count {
                clients.append(try await LineClient.connect(host: address.host, port: address.port))
            }
            try await body(clients)
        } catch {
            for client in clients { await client.close() }
            throw error
        }
        for client in clients { await client.close() }
    }
}
