import DatabaseAccess
import Foundations
package import Logging
import Postgres
import Schema

/// A check, before a node serves, that notifications between nodes arrive.
package enum NotifyPreflight {
    /// Returns true if a notification sent over one URL arrives over the other.
    ///
    /// It does not arrive if a pooler changes the backend between transactions, where LISTEN succeeds without effect,
    /// or if the URLs lead to different databases.
    ///
    /// - Parameters:
    ///   - url: the URL for requests, over which other nodes notify too.
    ///   - listenURL: the URL over which the feed listens.
    /// - Throws: `MigrationError.unreachable`.
    package static func isHeard(
        notifyingOver url: String, listeningOver listenURL: String, logger: Logger
    ) async throws -> Bool {
        let reactor = Reactor(name: "notify")
        let channel = "postline_\(ID.random())"
        // The notification is sent over a separate connection: a session receives its own notifications through any
        // pooler.
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
                        // Notifications arrive at once. After five seconds none will.
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
