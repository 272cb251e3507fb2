internal import Logging
internal import Postgres
internal import Synchronization

/// Tells the database which users have a live, active session on this node, and ends the nodes that tell it nothing any
/// more (`docs/change-feed.md`, "Presence").
///
/// Sessions come and go without waiting for it, and without a statement of their own: what they say is counted, and the
/// difference to what was told goes in one statement a second at most.
final class PresenceReporter: Sendable {
    private let node = ID.random()
    private let times: PresenceTimes
    private let database: Database
    private let logger: Logger

    /// Others may be shown something else now.
    private let onChange: @Sendable () -> Void

    private let state: Mutex<PresenceState>
    private let wake: WakeSignal

    init(
        times: PresenceTimes, database: Database, logger: Logger, onChange: @escaping @Sendable () -> Void
    ) {
        self.times = times
        self.database = database
        self.logger = logger
        self.onChange = onChange
        state = Mutex(PresenceState(times, at: .now))
        wake = WakeSignal(on: database.reactor)
    }

    /// A session of that user is live here, and active.
    func began(_ user: ID) {
        change { $0.began(user) }
    }

    /// One that had begun is not any more. Each is to be ended once.
    func ended(_ user: ID) {
        change { $0.ended(user, at: .now) }
    }

    private func change(_ body: (inout PresenceState) -> Void) {
        let isDueOtherwise = state.withLock { state in
            let due = state.due
            body(&state)
            return state.due != due
        }
        if isDueOtherwise { wake.signal() }
    }

    /// Runs until it is cancelled.
    func run() async {
        await withDiscardingTaskGroup { group in
            group.addTask { await self.keepReporting() }
            group.addTask { await self.keepEndingNodes() }
        }
    }

    /// This node stops: who does not come back elsewhere within the time of a reconnect is offline then.
    ///
    /// To be called when `run` has returned. It does not wait long: without it the lease ends a little later.
    func leave() async {
        guard state.withLock({ $0.hasLease }) else { return }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { _ = try? await self.send(.init(), lease: min(self.times.grace, self.times.lease)) }
            group.addTask { try? await Task.sleep(for: .seconds(1)) }
            await group.next()
            group.cancelAll()
        }
    }

    private func keepReporting() async {
        var backoff = Backoff(base: .milliseconds(250), limit: .seconds(2))
        while !Task.isCancelled {
            do throws(ProtocolError) {
                let report = state.withLock { $0.report(at: .now) }
                guard let report else {
                    await pause()
                    continue
                }
                let isKnown: Bool
                do throws(ProtocolError) {
                    isKnown = try await send(report, lease: times.lease)
                } catch {
                    state.withLock { $0.came(.lost) }
                    throw error
                }
                state.withLock { $0.came(isKnown ? .taken : .refused) }
                backoff.reset()
                if report.tells, isKnown { onChange() }
            } catch {
                if backoff.attempts == 0 { note("who is online cannot be told, and it is tried again", error) }
                try? await Task.sleep(for: backoff.next())
            }
        }
    }

    /// Returns when there may be something to report.
    private func pause() async {
        guard let due = state.withLock({ $0.due }) else {
            try? await wake.next()
            return
        }
        // Whoever comes or goes may be due before what is due now.
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
                "\(node)", "\(lease.count(of: .seconds(1)))", Self.array(report.arrived), Self.array(report.gone),
                "\(report.isWhole)",
            ], as: .feed)
        return rows.text(0, 0) == "t"
    }

    private static func array(_ users: [ID]) -> String {
        "{\(users.map(\.description).joined(separator: ","))}"
    }

    /// Every node does, so that whichever is left ends those that are not.
    private func keepEndingNodes() async {
        var backoff = Backoff(base: .seconds(1), limit: .seconds(5))
        while !Task.isCancelled {
            do throws(ProtocolError) {
                let rows = try await database.rows(Self.endNodes, [], as: .feed)
                backoff.reset()
                let ended = rows.text(0, 0).flatMap { Int($0) } ?? 0
                if ended > 0 { onChange() }
                // So many are one call's share: there may be more.
                let wait = ended >= PresenceState.mostAtOnce ? min(.seconds(1), times.nodeCheck) : times.nodeCheck
                try? await Task.sleep(for: wait)
            } catch {
                if backoff.attempts == 0 { note("nodes that are gone cannot be ended, and it is tried again", error) }
                try? await Task.sleep(for: backoff.next())
            }
        }
    }

    private func note(_ what: String, _ error: ProtocolError) {
        guard !Task.isCancelled else { return }
        logger.warning("\(what)", metadata: ["error": "\(error.reason ?? error.message)"])
    }

    private static let report = Statement(
        "app.report_presence", "select app.report_presence($1::uuid, $2::int, $3::uuid[], $4::uuid[], $5::bool)")
    private static let endNodes = Statement("app.end_nodes", "select app.end_nodes()")
}
