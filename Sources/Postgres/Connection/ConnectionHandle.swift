import Foundations
import CPostgres
import Logging

/// The owner of a `PGconn`.
///
/// Sendable without the compiler's check: libpq permits any thread to use a connection, one at a time, and being
/// noncopyable it has one user at a time. A closed handle owns nothing, and libpq fails every call on it.
@safe struct ConnectionHandle: ~Copyable, @unchecked Sendable {
    private var pointer: OpaquePointer?
    /// Kept for as long as the connection, which holds an unretained pointer to it.
    private let noticeLog: NoticeLog

    deinit { unsafe PQfinish(pointer) }

    /// Connects, blocking the calling thread for name resolution, TLS and authentication.
    ///
    /// If the queue of the server's Unix socket is full, it waits, as the kernel does for TCP: the server is busy, not
    /// unreachable.
    ///
    /// - Parameters:
    ///   - timeout: the timeout for each server if the connection string sets one, otherwise for all servers
    ///     together, divided among them.
    ///   - willTry: receives the maximum total time once names are resolved.
    /// - Throws: `connectFailed`.
    static func open(
        _ conninfo: Conninfo, timeout: Duration, logger: Logger, willTry: (Duration) -> Void
    ) throws(PostgresError) -> Transfer<ConnectionHandle> {
        var list = ServerList(conninfo)
        let count = max(list.servers.count, 1)
        let share = conninfo.connectTimeout == nil ? timeout / count : timeout
        willTry(share * count)
        var silent: [String] = []
        while true {
            let attempt = list.parameters.map(conninfo.replacing) ?? conninfo
            do throws(Failure) {
                return try openFirst(attempt, share, logger)
            } catch {
                switch error {
                case .failed(let reason):
                    guard !silent.isEmpty else { throw .connectFailed(reason) }
                    throw .connectFailed(
                        "no response within \(share) from \(silent.joined(separator: ", ")); \(reason)")
                case .silent(let server):
                    silent.append(server.address.isEmpty ? server.host : server.address)
                    guard list.remove(server) else {
                        throw .connectFailed("no response within \(share * count)")
                    }
                }
            }
        }
    }

    /// The reason why no connection was made.
    private enum Failure: Error {
        case failed(String)

        /// A server did not respond within its share of the time.
        case silent(ServerList.Server)
    }

    /// Connects to the first server that accepts, and waits while it is busy.
    private static func openFirst(
        _ conninfo: Conninfo, _ share: Duration, _ logger: Logger
    ) throws(Failure) -> Transfer<ConnectionHandle> {
        let deadline = ContinuousClock.now + share
        while true {
            do throws(Failure) {
                return Transfer(try ConnectionHandle(conninfo, share, logger))
            } catch {
                guard case .failed(let reason) = error, reason.contains(queueIsFull), .now < deadline else {
                    throw error
                }
                _ = poll(nil, 0, queueCheckMilliseconds)
            }
        }
    }

    /// The system's text for `EAGAIN`, which connect(2) returns at once and libpq reports only in a sentence.
    private static let queueIsFull = unsafe String(cString: strerror(EAGAIN))
    private static let queueCheckMilliseconds: Int32 = 20

    private init(_ conninfo: Conninfo, _ share: Duration, _ logger: Logger) throws(Failure) {
        var keywords = ParameterBuffer()
        var values = ParameterBuffer()
        for (keyword, value) in conninfo.parameters {
            _ = keywords.append(keyword)
            _ = values.append(value)
        }
        _ = keywords.append(nil)
        _ = values.append(nil)
        unsafe pointer = keywords.withPointers(0..<keywords.count) { keywords in
            unsafe values.withPointers(0..<values.count) { values in
                unsafe PQconnectStartParams(keywords, values, 0)
            }
        }
        noticeLog = NoticeLog(logger)
        guard unsafe pointer != nil else { throw .failed("out of memory") }
        unsafe PQsetNoticeReceiver(
            pointer, { unsafe NoticeLog.receive($0, $1) }, Unmanaged.passUnretained(noticeLog).toOpaque())
        guard !isBad else { throw .failed(ConnectAdvice.explained(errorMessage)) }

        var events = Int16(POLLOUT)
        var server = server
        var deadline = ContinuousClock.now + share
        while true {
            let wait = deadline - .now
            guard wait > .zero else { throw .silent(server) }
            let milliseconds = wait.components.seconds * 1_000 + wait.components.attoseconds / 1_000_000_000_000_000
            // Read each time, since libpq opens another socket for the next address.
            var descriptor = pollfd(fd: socket, events: events, revents: 0)
            let ready = unsafe poll(&descriptor, 1, Int32(min(milliseconds, 60_000) + 1))
            if ready <= 0 { continue }
            switch unsafe PQconnectPoll(pointer) {
            case PGRES_POLLING_READING: events = Int16(POLLIN)
            case PGRES_POLLING_WRITING: events = Int16(POLLOUT)
            case PGRES_POLLING_OK:
                guard unsafe PQsetnonblocking(pointer, 1) == 0 else {
                    throw .failed(ConnectAdvice.explained(errorMessage))
                }
                return
            default: throw .failed(ConnectAdvice.explained(errorMessage))
            }
            // The next server has its own share of the time.
            if self.server != server {
                server = self.server
                deadline = .now + share
            }
        }
    }

    /// The server that is being tried, or that responded.
    private var server: ServerList.Server {
        unsafe ServerList.Server(
            host: Self.text(PQhost(pointer)), address: Self.text(PQhostaddr(pointer)),
            port: Self.text(PQport(pointer)))
    }

    /// Returns a copy of a text that libpq owns, or an empty text.
    private static func text(_ pointer: UnsafePointer<CChar>?) -> String {
        unsafe pointer.map { unsafe String(cString: $0) } ?? ""
    }

    /// A handle that owns nothing.
    private init(taking pointer: OpaquePointer?, _ noticeLog: NoticeLog) {
        unsafe self.pointer = pointer
        self.noticeLog = noticeLog
    }

    /// Moves the connection to a new owner; this handle is closed afterwards.
    mutating func take() -> ConnectionHandle {
        defer { unsafe pointer = nil }
        return unsafe ConnectionHandle(taking: pointer, noticeLog)
    }

    /// Closes the connection without waiting for the server.
    mutating func close() {
        unsafe PQfinish(pointer)
        unsafe pointer = nil
    }

    var isClosed: Bool { unsafe pointer == nil }
    var isBad: Bool { unsafe PQstatus(pointer) == CONNECTION_BAD }
    var socket: Int32 { unsafe PQsocket(pointer) }
    var backendProcessID: Int32 { unsafe PQbackendPID(pointer) }
    var serverVersion: Int32 { unsafe PQserverVersion(pointer) }
    var errorMessage: String { unsafe String(cString: PQerrorMessage(pointer)).trimmed }

    /// True if the session is read-only, as the server reports on each change: it is a standby, or
    /// `default_transaction_read_only` is on. A pooler may report an old value.
    var isReadOnly: Bool {
        let states = unsafe [
            PQparameterStatus(pointer, "in_hot_standby"), PQparameterStatus(pointer, "default_transaction_read_only"),
        ]
        return unsafe states.contains { unsafe Self.text($0) == "on" }
    }

    /// True if the session is neither in a transaction nor executing a command.
    var isOutsideTransaction: Bool { unsafe PQtransactionStatus(pointer) == PQTRANS_IDLE }

    /// Returns a handle that cancels this connection's statement.
    func makeCancelHandle() -> CancelHandle? {
        guard let cancel = unsafe PQgetCancel(pointer) else { return nil }
        return unsafe CancelHandle(owning: cancel)
    }

    func enterPipelineMode() -> Bool { unsafe PQenterPipelineMode(pointer) == 1 }

    func exitPipelineMode() -> Bool { unsafe PQexitPipelineMode(pointer) == 1 }

    func sendPrepare(_ statement: Statement) -> Bool {
        unsafe PQsendPrepare(pointer, statement.name, statement.sql, 0, nil) == 1
    }

    func sendPrepared(_ statement: Statement, _ parameters: borrowing ParameterBuffer, _ range: Range<Int>) -> Bool {
        unsafe parameters.withPointers(range) { values in
            unsafe PQsendQueryPrepared(pointer, statement.name, Int32(range.count), values, nil, nil, 0) == 1
        }
    }

    func sendUnprepared(_ statement: Statement, _ parameters: borrowing ParameterBuffer, _ range: Range<Int>) -> Bool {
        unsafe parameters.withPointers(range) { values in
            unsafe PQsendQueryParams(pointer, statement.sql, Int32(range.count), nil, values, nil, nil, 0) == 1
        }
    }

    func sendSync() -> Bool { unsafe PQpipelineSync(pointer) == 1 }

    func sendScript(_ sql: String) -> Bool { unsafe PQsendQuery(pointer, sql) == 1 }

    /// Flushes libpq's buffer. Returns true if all was written, false if the socket accepts no more now, nil if the
    /// connection has failed.
    func flush() -> Bool? {
        switch unsafe PQflush(pointer) {
        case 0: true
        case 1: false
        default: nil
        }
    }

    /// Reads from the socket. Returns false if the connection has ended; earlier input remains readable.
    func consumeInput() -> Bool { unsafe PQconsumeInput(pointer) == 1 }

    /// True if `nextResult` would block.
    var isBusy: Bool { unsafe PQisBusy(pointer) == 1 }

    /// Returns the next result, or nil at the end of a command's results.
    func nextResult() -> ResultHandle? {
        guard let result = unsafe PQgetResult(pointer) else { return nil }
        return unsafe ResultHandle(owning: result)
    }

    /// Returns the next received notification, or nil.
    func nextNotification() -> Notification? {
        guard let notify = unsafe PQnotifies(pointer) else { return nil }
        defer { unsafe PQfreemem(notify) }
        return unsafe Notification(
            channel: String(cString: notify.pointee.relname), payload: String(cString: notify.pointee.extra),
            processID: notify.pointee.be_pid)
    }
}
