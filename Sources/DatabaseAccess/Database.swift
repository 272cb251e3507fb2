package import Metrics
package import NIOCore
package import Postgres
package import WireProtocol

/// The service's access to the database: a caller and a function call, in one round trip.
package struct Database: Sendable {
    private let pool: Pool
    private let preamble: Preamble

    /// The preamble of first attempts, with a short lock timeout so that requests for one locked row do not hold all
    /// connections. Requests without their locks run again, on at most half of the connections.
    private let firstPreamble: Preamble
    private let lockRetries: Counter
    private static let firstLockWait = Duration.milliseconds(50)

    /// Coalesces waits for the WAL flush into one call.
    private let durabilityWaits: RequestCoalescer<Void, Void>

    /// The thread of the connections.
    package var reactor: Reactor { pool.reactor }

    package init(pool: Pool, limits: StatementLimits, metrics: any MetricsFactory = MetricsSystem.factory) {
        let preamble = Preamble(limits: limits)
        self.pool = pool
        self.preamble = preamble
        firstPreamble = Preamble(
            limits: StatementLimits(statement: limits.statement, lock: min(Self.firstLockWait, limits.lock)))
        lockRetries = Counter(label: "postline_database_lock_retries_total", factory: metrics)
        self.durabilityWaits = RequestCoalescer(maxBatchSize: .max, on: pool.reactor) {
            requests throws(ProtocolError) in
            do throws(PostgresError) {
                _ = try await Self.results(Self.awaitDurable, [], as: .feed, of: nil, from: pool, preamble)
            } catch {
                throw ProtocolError(error)
            }
            return requests
        }
    }

    /// Calls a function as `caller` in its own transaction, within the share of the caller, or of the client whose
    /// request runs.
    ///
    /// - Parameters:
    ///   - owner: the owner of the share for a call outside a request.
    ///   - committed: called on the pool's thread when it has committed, before this returns.
    /// - Throws: the function's error, `unavailable`, `timeout` or `rate_limited`, as the client receives it.
    package func rows(
        _ function: Statement, _ parameters: [String?], as caller: Caller, of owner: RequestOwner? = nil,
        committed: (@Sendable () -> Void)? = nil
    ) async throws(ProtocolError) -> Rows {
        try await rows(function, parameters, as: caller, of: owner ?? caller.owner, isAdmitted: false, committed)
    }

    /// Returns when a request of the owner would start: its share of the pool is free. So a client does not keep a
    /// place of another limit while it waits for its own requests.
    ///
    /// - Throws: `unavailable`, `timeout`, `rate_limited`.
    package func awaitShare(of owner: RequestOwner) async throws(ProtocolError) {
        do throws(PostgresError) {
            try await pool.awaitShare(of: owner, deadline: preamble.limits.deadline)
        } catch {
            throw ProtocolError(error)
        }
    }

    /// Calls a function as `caller` in its own transaction, after ``awaitShare(of:)``: it is charged to the share of
    /// the caller, and does not wait for it.
    ///
    /// - Throws: the function's error, `unavailable` or `timeout`, as the client receives it.
    package func rowsInTurn(
        _ function: Statement, _ parameters: [String?], as caller: Caller
    ) async throws(ProtocolError) -> Rows {
        try await rows(function, parameters, as: caller, of: caller.owner, isAdmitted: true, nil)
    }

    /// Calls a function for several clients together, within no client's share.
    ///
    /// - Throws: the function's error, `unavailable` or `timeout`, as the client receives it.
    package func rowsForMany(
        _ function: Statement, _ parameters: [String?], as caller: Caller
    ) async throws(ProtocolError) -> Rows {
        try await rows(function, parameters, as: caller, of: nil, isAdmitted: false, nil)
    }

    /// Calls a function with the lock timeout `lockWait`, within no client's share.
    ///
    /// - Throws: the original error. A caller that knows that nothing was written may retry.
    package func rows(
        _ function: Statement, _ parameters: [String?], as caller: Caller, lockWait: Duration
    ) async throws(PostgresError) -> Rows {
        let preamble = Preamble(
            limits: StatementLimits(statement: preamble.limits.statement, lock: min(lockWait, preamble.limits.lock)))
        return try await Self.results(function, parameters, as: caller, of: nil, from: pool, preamble)
    }

    /// Calls a function after another call, in the same transaction and as the same caller, after ``awaitShare(of:)``.
    ///
    /// - Throws: the original error.
    package func rows(
        _ function: Statement, _ parameters: [String?], as caller: Caller, after first: Call
    ) async throws(PostgresError) -> Rows {
        try await pool.run(
            [preamble.call(for: caller), first, Call(function, parameters)], of: caller.owner, isAdmitted: true,
            deadline: preamble.limits.deadline)[2]
    }

    /// Runs a request. If its first attempt did not get a lock, it was rolled back completely and runs again with the
    /// full lock timeout.
    private func rows(
        _ function: Statement, _ parameters: [String?], as caller: Caller, of owner: RequestOwner?,
        isAdmitted: Bool, _ committed: (@Sendable () -> Void)?
    ) async throws(ProtocolError) -> Rows {
        let start = ContinuousClock.now
        do throws(PostgresError) {
            do throws(PostgresError) {
                return try await Self.results(
                    function, parameters, as: caller, of: owner, from: pool, firstPreamble, isAdmitted: isAdmitted,
                    committed)
            } catch {
                guard error.serverError?.sqlState == .lockNotAvailable else { throw error }
            }
            lockRetries.increment()
            return try await Self.results(
                function, parameters, as: caller, of: owner, from: pool, preamble, isAdmitted: isAdmitted, committed,
                isLockWaiter: true, deadline: preamble.limits.deadline - (.now - start))
        } catch {
            throw ProtocolError(error)
        }
    }

    private static func results(
        _ function: Statement, _ parameters: [String?], as caller: Caller, of owner: RequestOwner?, from pool: Pool,
        _ preamble: Preamble, isAdmitted: Bool = false, _ committed: (@Sendable () -> Void)? = nil,
        isLockWaiter: Bool = false, deadline: Duration? = nil
    ) async throws(PostgresError) -> Rows {
        try await pool.run(
            [preamble.call(for: caller), Call(function, parameters)], of: owner, isAdmitted: isAdmitted,
            isLockWaiter: isLockWaiter, deadline: deadline ?? preamble.limits.deadline, succeeded: committed)[1]
    }

    /// Returns once everything visible to any earlier snapshot is on disk, so that the snapshot may become a cursor.
    package func awaitDurable() async throws(ProtocolError) {
        try await durabilityWaits.load(())
    }

    package static let awaitDurable = Statement("app.wait_for_wal_flush", "select app.wait_for_wal_flush()")

    /// Calls a function that returns one JSON value, which is passed on unchanged.
    package func json(_ function: Statement, _ parameters: [String?], as caller: Caller) async throws(ProtocolError)
        -> ByteBuffer
    {
        try await rows(function, parameters, as: caller).buffer(0, 0)
    }
}

/// The timeouts of a statement.
package struct StatementLimits: Sendable {
    package var statement: Duration
    package var lock: Duration

    package init(statement: Duration, lock: Duration) {
        self.statement = statement
        self.lock = lock
    }

    /// The time after which a request is abandoned because the database or network hangs.
    package var deadline: Duration { statement + .seconds(2) }
}

/// The identity that calls a function.
package enum Caller: Sendable {
    /// An unauthenticated client, with access to public data only.
    case anyone

    /// A signed-in user, by its id and the claims of its verified token as JSON text.
    case user(id: String, claims: String)

    /// The service, for managing accounts.
    case accounts

    /// The service, for reading changes.
    case feed

    /// The service, for writing messages of several users at once.
    case senders

    /// The caller's database role. The login role has no rights of its own, so a request without a role fails.
    fileprivate var role: String {
        switch self {
        case .anyone: "anon"
        case .user: "authenticated"
        case .accounts: "postline_accounts"
        case .feed: "postline_feed"
        case .senders: "postline_sender"
        }
    }

    /// The application name in `pg_stat_activity` outside requests.
    fileprivate var applicationName: String {
        switch self {
        case .anyone, .user, .accounts: "postline"
        case .feed: "postline feed"
        case .senders: "postline sends"
        }
    }

    fileprivate var claims: String {
        switch self {
        case .anyone, .accounts, .feed, .senders: ""
        case .user(_, let claims): claims
        }
    }

    /// The owner of the share that a call uses: the user, or the client whose request runs; nil for calls on behalf of
    /// several clients.
    fileprivate var owner: RequestOwner? {
        switch self {
        case .user(let id, _): RequestOwner(id, in: CurrentRequest.current?.owner.group)
        case .anyone, .accounts: CurrentRequest.current?.owner
        case .feed, .senders: nil
        }
    }

    /// The value of `auth.uid()`. It is also in the claims, where reading it takes longer.
    fileprivate var id: String {
        switch self {
        case .anyone, .accounts, .feed, .senders: ""
        case .user(let id, _): id
        }
    }
}

/// The statement before each call in the same transaction. It sets role, claims, timeouts and the application name for
/// the call.
package struct Preamble: Sendable {
    package let limits: StatementLimits
    private let statementTimeout: String
    private let lockTimeout: String

    package init(limits: StatementLimits) {
        self.limits = limits
        statementTimeout = limits.statement.milliseconds
        lockTimeout = limits.lock.milliseconds
    }

    /// Not a function of ours: the login role may call none, and none is faster. This takes 36 µs in the backend; the
    /// same takes 41 µs in a PL/pgSQL function, 112 µs in an SQL function.
    private static let statement = Statement(
        "preamble",
        """
        select set_config('role', $1, true), set_config('request.jwt.claims', $2, true), \
        set_config('request.jwt.claim.sub', $3, true), set_config('statement_timeout', $4, true), \
        set_config('lock_timeout', $5, true), set_config('application_name', $6, true), \
        set_config('postline.quiet', 'on', true)
        """)

    package func call(for caller: Caller) -> Call {
        let name = CurrentRequest.current?.applicationName ?? caller.applicationName
        return Call(Self.statement, [caller.role, caller.claims, caller.id, statementTimeout, lockTimeout, name])
    }
}
