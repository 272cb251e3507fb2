public import Logging
internal import Postgres

/// The doorbell between nodes, tried before a node serves.
public enum NotifyPreflight {
    /// Whether what is notified over one connection string is heard over the other.
    ///
    /// It is not through a pooler that changes the backend between transactions: LISTEN succeeds there, and tells nobody.
    /// Nor is it where the two lead to different databases.
    /// - Parameters:
    ///   - url: What requests go over, and other nodes' bells with them.
    ///   - listenURL: What the feed listens over.
    /// - Throws: `MigrationError.unreachable`.
    public static func isHeard(
        notifyingOver url: String, listeningOver listenURL: String, logger: Logger
    ) async throws -> Bool {
        let reactor = Reactor(name: "notify")
        let channel = "postline_\(ID.random())"
        // The bell is rung over a connection of its own: a session's own bell is heard through any pooler.
        let listener = Listener(url: listenURL, channels: [channel], options: .logging(to: logger), on: reactor)
        let (events, sink) = AsyncStream.makeStream(of: ListenerEvent.self)
        return try await withThrowingTaskGroup(of: Bool.self) { group in
            defer { group.cancelAll() }
            group.addTask {
                await listener.run { sink.yield($0) }
                return false
            }
            for await event in events {
                switch event {
                case .listening:
                    try await notify(channel, over: url, on: reactor, logger: logger)
                    group.addTask {
                        // What is heard is heard at once; this long nobody is that slow.
                        try? await Task.sleep(for: .seconds(5))
                        sink.finish()
                        return false
                    }
                case .notified: return true
                case .lost(let error): throw MigrationError.unreachable("\(error)")
                }
            }
            return false
        }
    }

    private static func notify(
        _ channel: String, over url: String, on reactor: Reactor, logger: Logger
    ) async throws {
        do {
            try await Connection.with(url, on: reactor, options: .logging(to: logger)) { connection in
                let statement = Statement("ring", "select pg_notify($1, '')")
                _ = try await connection.run([Call(statement, [channel])], deadline: .seconds(5))
            }
        } catch let error as PostgresError {
            throw MigrationError.unreachable("\(error)")
        }
    }
}
