internal import Metrics
internal import NIOCore
internal import Postgres

/// The service's way to the database: who asks, and one call of one function, in one round trip.
struct Database: Sendable {
    private let pool: Pool
    private let preamble: Preamble

    /// The first attempt of a request waits for locks no longer than this, so that requests at one locked row do not
    /// hold all connections. Those that did not get their locks run again, in half of the connections at most.
    private let firstPreamble: Preamble
    private let lockRetries: Counter
    private static let firstLockWait = Duration.milliseconds(50)

    /// Those who wait for the log to be on disk share a call.
    private let durabilityWaits: RequestCoalescer<Void, Void>

    /// The thread of its connections.
    var reactor: Reactor { pool.reactor }

    init(pool: Pool, limits: StatementLimits, metrics: any MetricsFactory = MetricsSystem.factory) {
        let preamble = Preamble(limits: limits)
        self.pool = pool
        self.preamble = preamble
        firstPreamble = Preamble(
            limits: StatementLimits(statement: limits.statement, lock: min(Self.firstLockWait, limits.lock)))
        lockRetries = Counter(label: "postline_database_lock_retries_total", factory: metrics)
        self.durabilityWaits = RequestCoalescer(mostAtOnce: .max, on: pool.reactor) { questions throws(ProtocolError) in
            do throws(PostgresError) {
                _ = try await Self.results(Self.awaitDurable, [], as: .feed, of: nil, from: pool, preamble)
            } catch {
                throw ProtocolError(error)
            }
            return questions
        }
    }

    /// Calls a function as `caller`, in a transaction of its own, within the share of the caller, or of the client
    /// whose request it is.
    ///
    /// - Parameters:
    ///   - client: whose share it takes where it is done outside of a request: the user's id or the client's address.
    ///   - committed: called on the pool's thread when it is done, before this returns.
    /// - Throws: what the function raised, or `unavailable`, `timeout` or `rate_limited`, as a client gets it.
    func rows(
        _ function: Statement, _ parameters: [String?], as caller: Caller, client: String? = nil,
        committed: (@Sendable () -> Void)? = nil
    ) async throws(ProtocolError) -> Rows {
        try await rows(function, parameters, as: caller, of: client ?? caller.owner, committed)
    }

    /// Calls a function for several clients at once: within no client's share.
    ///
    /// - Throws: what the function raised, or `unavailable` or `timeout`, as a client gets it.
    func rowsForMany(
        _ function: Statement, _ parameters: [String?], as caller: Caller
    ) async throws(ProtocolError) -> Rows {
        try await rows(function, parameters, as: caller, of: nil, nil)
    }

    /// Calls a function that waits for a lock no longer than `lockWait`, and within no client's share.
    ///
    /// - Throws: what the function raised, or what became of it, as it is: who knows that nothing was written may try
    ///   again.
    func rows(
        _ function: Statement, _ parameters: [String?], as caller: Caller, lockWait: Duration
    ) async throws(PostgresError) -> Rows {
        let preamble = Preamble(
            limits: StatementLimits(statement: preamble.limits.statement, lock: min(lockWait, preamble.limits.lock)))
        return try await Self.results(function, parameters, as: caller, of: nil, from: pool, preamble)
    }

    /// Runs a query on the standby after recording which transactions have ended there.
    ///
    /// - Parameter lastPoll: the feed's last poll of the standby.
    /// - Throws: what the function raised, or what became of it, as it is.
    func rows(
        _ function: Statement, _ parameters: [String?], as caller: Caller, after lastPoll: FeedReadPosition.Standby
    ) async throws(PostgresError) -> Rows {
        try await pool.run(
            [
                preamble.call(for: caller),
                StandbyWatch.recordEnded(since: lastPoll.snapshot, lastPoll.started),
                Call(function, parameters),
            ], of: caller.owner, deadline: preamble.limits.deadline)[2]
    }

    /// A request whose first attempt did not get a lock was rolled back whole, as every request is one transaction: it
    /// runs again with the whole time for locks.
    private func rows(
        _ function: Statement, _ parameters: [String?], as caller: Caller, of owner: String?,
        _ committed: (@Sendable () -> Void)?
    ) async throws(ProtocolError) -> Rows {
        let start = ContinuousClock.now
        do throws(PostgresError) {
            do throws(PostgresError) {
                return try await Self.results(
                    function, parameters, as: caller, of: owner, from: pool, firstPreamble, committed)
            } catch {
                guard error.serverError?.sqlState == .lockNotAvailable else { throw error }
            }
            lockRetries.increment()
            return try await Self.results(
                function, parameters, as: caller, of: owner, from: pool, preamble, committed,
                isLockWaiter: true, deadline: preamble.limits.deadline - (.now - start))
        } catch {
            throw ProtocolError(error)
        }
    }

    private static func results(
        _ function: Statement, _ parameters: [String?], as caller: Caller, of owner: String?, from pool: Pool,
        _ preamble: Preamble, _ committed: (@Sendable () -> Void)? = nil, isLockWaiter: Bool = false,
        deadline: Duration? = nil
    ) async throws(PostgresError) -> Rows {
        try await pool.run(
            [preamble.call(for: caller), Call(function, parameters)], of: owner, isLockWaiter: isLockWaiter,
            deadline: deadline ?? preamble.limits.deadline, succeeded: committed)[1]
    }

    /// Returns once all that any snapshot taken before has seen is on disk: such a snapshot may become a cursor.
    func awaitDurable() async throws(ProtocolError) {
        try await durabilityWaits.load(())
    }

    static let awaitDurable = Statement("app.wait_for_wal_flush", "select app.wait_for_wal_flush()")

    /// Calls a function that returns one JSON value, which is passed on as it is.
    func json(_ function: Statement, _ parameters: [String?], as caller: Caller) async throws(ProtocolError)
        -> ByteBuffer
    {
        try await rows(function, parameters, as: caller).buffer(0, 0)
    }
}

/// How long the database may take for one statement.
public struct StatementLimits: Sendable {
    public var statement: Duration
    public var lock: Duration

    public init(statement: Duration, lock: Duration) {
        self.statement = statement
        self.lock = lock
    }

    /// When a request is given up though the database has not: it hangs, or the network does.
    var deadline: Duration { statement + .seconds(2) }
}

/// On whose behalf a function is called.
enum Caller: Sendable {
    /// Nobody yet: only what is public.
    case anyone

    /// A signed-in user, by its id and the claims of its verified token as JSON text.
    case user(id: String, claims: String)

    /// The service itself, on the accounts it keeps.
    case accounts

    /// The service itself, to see what changed.
    case feed

    /// The service itself, to write messages of several users at once.
    case senders

    /// The role of the database that stands for it. The login role has no rights of its own, so that a request whose
    /// role was not set fails closed.
    fileprivate var role: String {
        switch self {
        case .anyone: "anon"
        case .user: "authenticated"
        case .accounts: "postline_accounts"
        case .feed: "postline_feed"
        case .senders: "postline_sender"
        }
    }

    /// What `pg_stat_activity` shows where no request is done.
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

    /// The client whose share of the database a call takes: the user, or else the client whose request is being done.
    /// Calls for several clients at once take no client's share.
    fileprivate var owner: String? {
        switch self {
        case .user(let id, _): id
        case .anyone, .accounts: CurrentRequest.current?.client
        case .feed, .senders: nil
        }
    }

    /// What `auth.uid()` gives. It is in the claims too, where to find it takes longer.
    fileprivate var id: String {
        switch self {
        case .anyone, .accounts, .feed, .senders: ""
        case .user(let id, _): id
        }
    }
}

/// The statement before each call, in the same transaction: role, claims, time limits and the name under which
/// `pg_stat_activity` shows the call hold for it alone.
struct Preamble: Sendable {
    let limits: StatementLimits
    private let statementTimeout: String
    private let lockTimeout: String

    init(limits: StatementLimits) {
        self.limits = limits
        statementTimeout = limits.statement.milliseconds
        lockTimeout = limits.lock.milliseconds
    }

    /// Not a function of ours: the login role may call none, and none would be quicker. This takes 36 µs of the
    /// backend's time, the same in a PL/pgSQL function 41 µs, in an SQL function 112 µs.
    private static let statement = Statement(
        "preamble",
        """
        select set_config('role', $1, true), set_config('request.jwt.claims', $2, true), \
        set_config('request.jwt.claim.sub', $3, true), set_config('statement_timeout', $4, true), \
        set_config('lock_timeout', $5, true), set_config('application_name', $6, true), \
        set_config('postline.quiet', 'on', true)
        """)

    func call(for caller: Caller) -> Call {
        let name = CurrentRequest.current?.applicationName ?? caller.applicationName
        return Call(Self.statement, [caller.role, caller.claims, caller.id, statementTimeout, lockTimeout, name])
    }
}

extension Duration {
    /// As PostgreSQL's settings take it: `10000ms`.
    var milliseconds: String {
        let (seconds, attoseconds) = components
        return "\(seconds * 1000 + attoseconds / 1_000_000_000_000_000)ms"
    }
}
