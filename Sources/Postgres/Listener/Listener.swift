import Foundations
import Logging

/// A connection that listens on channels and reconnects whenever it is lost.
package actor Listener {
    package nonisolated let reactor: Reactor
    package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe reactor.asUnownedSerialExecutor() }

    private let url: String
    private let channels: [String]
    private let options: ListenerOptions

    /// The reason why the current connection has ended.
    private var loss: PostgresError?

    /// Creates a listener that connects once `run` runs.
    ///
    /// - Parameters:
    ///   - url: a libpq connection string that leads to PostgreSQL itself, or to a pooler that keeps one backend per
    ///     session. Behind another pooler LISTEN is lost silently, which the keepalive detects.
    ///   - channels: the unquoted channel names, 1 to 63 bytes each, since PostgreSQL truncates longer ones.
    ///   - reactor: the reactor on whose thread the connection lives.
    package init(
        url: String, channels: [String], options: ListenerOptions = ListenerOptions(), on reactor: Reactor
    ) {
        precondition(
            channels.allSatisfy { (1...63).contains($0.utf8.count) }, "a channel's name has 1 to 63 bytes")
        self.url = url
        self.channels = channels
        self.options = options
        self.reactor = reactor
    }

    /// Listens and reports events until the task is cancelled.
    ///
    /// - Parameter onEvent: runs on the reactor's thread and must not block.
    package func run(_ onEvent: @escaping @Sendable (ListenerEvent) -> Void) async {
        var backoff = options.backoff
        while !Task.isCancelled {
            do throws(PostgresError) {
                let connection = try await Connection.open(url, on: reactor, options: options.connection)
                defer { close(connection) }
                try await listen(on: connection, &backoff, onEvent)
            } catch {
                if Task.isCancelled { return }
                onEvent(.lost(error))
            }
            try? await Task.sleep(for: backoff.next())
        }
    }

    /// Reports the events of one connection until it is lost or the task is cancelled.
    private func listen(
        on connection: Connection, _ backoff: inout Backoff, _ onEvent: @escaping @Sendable (ListenerEvent) -> Void
    ) async throws(PostgresError) {
        loss = nil
        let wakeUp = WakeSignal(on: reactor)
        await connection.onLoss { [weak self] error in
            self?.assumeIsolated { $0.loss = error }
            wakeUp.signal()
        }
        for channel in channels {
            try await connection.execute("listen \(Self.quoted(channel))", deadline: options.keepaliveDeadline)
        }
        backoff.reset()
        // Earlier changes are covered by `.listening`.
        await connection.onNotification { [channels] notification in
            guard channels.contains(notification.channel) else { return }
            onEvent(
                .notified(
                    channel: notification.channel, processID: notification.processID, payload: notification.payload))
        }
        onEvent(.listening)

        let timer = reactor.watch(nil) { _ in wakeUp.signal() }
        defer { reactor.remove(timer) }
        while true {
            reactor.setDeadline(.now + options.keepaliveInterval, of: timer)
            do { try await wakeUp.next() } catch { return }
            if let loss { throw loss }
            try await verifyListening(connection)
        }
    }

    private func close(_ connection: Connection) {
        connection.assumeIsolated { $0.close() }
    }

    private static func quoted(_ channel: String) -> String {
        "\"" + channel.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
    }

    /// Detects a frozen backend, a silently lost network, and a pooler that assigned another backend.
    private func verifyListening(_ connection: Connection) async throws(PostgresError) {
        let statement = Statement(
            "postgres.listens", "select c from pg_catalog.pg_listening_channels() as c")
        let rows = try await connection.run([Call(statement, [])], deadline: options.keepaliveDeadline)
        guard let rows = rows.first, Set(channels).isSubset(of: (0..<rows.count).compactMap { rows.text($0, 0) }) else {
            throw .connectionLost(
                sent: true, "the session no longer listens: use a connection that no pooler shares")
        }
    }
}
