package import DatabaseAccess
package import Foundations
package import Logging
import Postgres
import Synchronization
import WireProtocol

/// Reports to the database which users have a live, active session on this node, and expires nodes that no longer
/// report.
///
/// Sessions do not wait for it and cause no statement of their own: they are counted, and the difference to the last
/// report is sent in one statement a second at most.
package final class PresenceReporter: Sendable {
    private let node = ID.random()
    private let times: PresenceTimes
    private let database: Database
    private let logger: Logger

    /// Called when the presence that other users see may have changed.
    private let onChange: @Sendable () -> Void

    private let state: Mutex<PresenceState>
    private let wake: WakeSignal

    package init(
        times: PresenceTimes, database: Database, logger: Logger, onChange: @escaping @Sendable () -> Void
    ) {
        self.times = times
        self.database = database
        self.logger = logger
        self.onChange = onChange
        state = Mutex(PresenceState(times, at: .now))
        wake = WakeSignal(on: database.reactor)
    }

    /// Counts a live, active session of the user.
    package func sessionStarted(of user: ID) {
        update { $0.sessionStarted(of: user) }
    }

    /// Ends a counted session. Call it once for each ``sessionStarted(of:)``.
    package func sessionEnded(of user: ID) {
        update { $0.sessionEnded(of: user, at: .now) }
    }

    private func update(_ body: (inout PresenceState) -> Void) {
        let hasNewDueTime = state.withLock { state in
            let due = state.due
            body(&state)
            return state.due != due
        }
        if hasNewDueTime { wake.signal() }
    }

    /// Reports and expires nodes until it is cancelled.
    package func run() async {
        await withDiscardingTaskGroup { group in
            group.addTask { await self.runReportLoop() }
            group.addTask { await self.runNodeExpiryLoop() }
        }
    }

    /// Shortens the lease to the reconnect time, so that users who do not reconnect to another node soon go offline.
    ///
    /// Call it when `run` has returned. It gives up after a second, since the lease would expire a little later anyway.
    package func shortenLease() async {
        guard state.withLock({ $0.hasLease }) else { return }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { _ = try? await self.send(.init(), lease: min(self.times.grace, self.times.lease)) }
            group.addTask { try? await Task.sleep(for: .seconds(1)) }
            await group.next()
            group.cancelAll()
        }
    }

    private func runReportLoop() async {
        var backoff = Backoff(base: .milliseconds(250), limit: .seconds(2))
        while !Task.isCancelled {
            do throws(ProtocolError) {
                let report = state.withLock { $0.report(at: .now) }
                guard let report else {
                    await waitUntilDue()
                    continue
                }
                let isKnown: Bool
                do throws(ProtocolError) {
                    isKnown = try await send(report, lease: times.lease)
                } catch {
                    state.withLock { $0.reportCompleted(.unknown) }
                    throw error
                }
                state.withLock { $0.reportCompleted(isKnown ? .accepted : .rejected) }
                backoff.reset()
                if report.hasUsers, isKnown { onChange() }
            } catch {
                if backoff.attempts == 0 { log("cannot report presence; retrying", error) }
                try? await Task.sleep(for: backoff.next())
            }
        }
    }

    /// Waits until there may be something to report.
    private func waitUntilDue() async {
        guard let due = state.withLock({ $0.due }) else {
            try? await wake.next()
            return
        }
        // A session that starts or ends may be due earlier.
        await withTaskGroup(of: Void.self) { group in
            group.addTask { [wake] in try? await wake.next() }
            group.addTask { try? await Task.sleep(until: due, clock: .continuous) }
            await group.next()
            group.cancelAll()
        }
    }

    private func send(_ report: PresenceState.Report, lease: Duration) async throws(ProtocolError) -> Bool {
        let rows = try await database.rows(
            Self.report,
            [
                "\(node)", "\(lease.count(of: .seconds(1)))", report.arrived.plainArrayLiteral { $0 },
                report.gone.plainArrayLiteral { $0 }, "\(report.isComplete)",
            ], as: .feed)
        return rows.text(0, 0) == "t"
    }

    /// Expires other nodes until it is cancelled. Every node does so, since any node may be the only one left.
    private func runNodeExpiryLoop() async {
        var backoff = Backoff(base: .seconds(1), limit: .seconds(5))
        while !Task.isCancelled {
            do throws(ProtocolError) {
                let rows = try await database.rows(Self.endNodes, [], as: .feed)
                backoff.reset()
                let ended = rows.text(0, 0).flatMap { Int($0) } ?? 0
                if ended > 0 { onChange() }
                // A full share of one call: there may be more.
                let wait =
                    ended >= PresenceState.maxUsersPerReport
                    ? min(.seconds(1), times.nodeCheckInterval) : times.nodeCheckInterval
                try? await Task.sleep(for: wait)
            } catch {
                if backoff.attempts == 0 { log("cannot expire stopped nodes; retrying", error) }
                try? await Task.sleep(for: backoff.next())
            }
        }
    }

    private func log(_ message: Logger.Message, _ error: ProtocolError) {
        guard !Task.isCancelled else { return }
        logger.warning(message, metadata: ["error": "\(error)"])
    }

    private static let report = Statement(
        "app.report_presence", "select app.report_presence($1::uuid, $2::int, $3::uuid[], $4::uuid[], $5::bool)")
    private static let endNodes = Statement("app.end_nodes", "select app.end_nodes()")
}
