import CPostgres
import Logging

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// The owner of one `PGconn`.
///
/// Sendable without the compiler's check: libpq lets a connection be used by any thread, by one at a time, and being
/// noncopyable there is one user at a time. Once closed it holds nothing, and libpq answers every call with a failure.
@safe struct ConnectionHandle: ~Copyable, @unchecked Sendable {
    private var pointer: OpaquePointer?
    /// Kept for as long as the connection, which holds an unretained pointer to it.
    private let noticeLog: NoticeLog

    deinit { unsafe PQfinish(pointer) }

    /// Connects, blocking the calling thread: names are resolved, TLS and passwords computed.
    ///
    /// Where the server's Unix socket has a full queue it waits, as the kernel does over TCP: it is busy, and not away.
    ///
    /// - Parameters:
    ///   - timeout: of each server, as libpq has it, where the connection string sets it; else of all of them together,
    ///     of which each gets its share.
    ///   - willTry: is told how long it may take in all, once names are resolved.
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
                    throw .connectFailed("no answer within \(share) from \(silent.joined(separator: ", ")); \(reason)")
                case .silent(let server):
                    silent.append(server.address.isEmpty ? server.host : server.address)
                    guard list.remove(server) else {
                        throw .connectFailed("no answer within \(share * count)")
                    }
                }
            }
        }
    }

    /// Why no connection came to be.
    private enum Failure: Error {
        case failed(String)

        /// A server said nothing for its share of the time.
        case silent(ServerList.Server)
    }

    /// Connects to the first server that lets us, and waits while it is busy.
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

    /// The words for `EAGAIN`, which connect(2) gives at once, and which libpq gives in a sentence only.
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

        var waitsFor = Int16(POLLOUT)
        var server = server
        var deadline = ContinuousClock.now + share
        while true {
            let wait = deadline - .now
            guard wait > .zero else { throw .silent(server) }
            let milliseconds = wait.components.seconds * 1_000 + wait.components.attoseconds / 1_000_000_000_000_000
            // Read anew each time: libpq opens another socket for the next address.
            var descriptor = pollfd(fd: socket, events: waitsFor, revents: 0)
            let ready = unsafe poll(&descriptor, 1, Int32(min(milliseconds, 60_000) + 1))
            if ready <= 0 { continue }
            switch unsafe PQconnectPoll(pointer) {
            case PGRES_POLLING_READING: waitsFor = Int16(POLLIN)
            case PGRES_POLLING_WRITING: waitsFor = Int16(POLLOUT)
            case PGRES_POLLING_OK:
                guard unsafe PQsetnonblocking(pointer, 1) == 0 else {
                    throw .failed(ConnectAdvice.explained(errorMessage))
                }
                return
            default: throw .failed(ConnectAdvice.explained(errorMessage))
            }
            // The next one has a share of its own.
            if self.server != server {
                server = self.server
                deadline = .now + share
            }
        }
    }

    /// The server that is tried now, or that answered.
    private var server: ServerList.Server {
        unsafe ServerList.Server(
            host: Self.text(PQhost(pointer)), address: Self.text(PQhostaddr(pointer)),
            port: Self.text(PQport(pointer)))
    }

    /// A copy of a text that libpq owns; empty where there is none.
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

    /// Ends the connection, without waiting for the server.
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

    /// True if the session takes no writes, as the server reports it whenever that changes: it is a standby's, or
    /// `default_transaction_read_only` is on. A pooler may report what was.
    var isReadOnly: Bool {
        let states = unsafe [
            PQparameterStatus(pointer, "in_hot_standby"), PQparameterStatus(pointer, "default_transaction_read_only"),
        ]
        return unsafe states.contains { unsafe Self.text($0) == "on" }
    }

    /// Neither in a transaction nor in the middle of a command.
    var isOutsideTransaction: Bool { unsafe PQtransactionStatus(pointer) == PQTRANS_IDLE }

    /// What asks the server to stop what this connection has under way.
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

    /// Writes what waits in libpq's memory: true when all is with the operating system, false when it takes no more now,
    /// nil when the connection has failed.
    func flush() -> Bool? {
        switch unsafe PQflush(pointer) {
        case 0: true
        case 1: false
        default: nil
        }
    }

    /// Reads what the socket has; false when the connection has ended. What came before the end can still be read.
    func consumeInput() -> Bool { unsafe PQconsumeInput(pointer) == 1 }

    /// Whether `nextResult` would have to wait.
    var isBusy: Bool { unsafe PQisBusy(pointer) == 1 }

    /// The next result, or nil at the end of a command's.
    func nextResult() -> ResultHandle? {
        guard let result = unsafe PQgetResult(pointer) else { return nil }
        return unsafe ResultHandle(owning: result)
    }

    /// The next notification that has come.
    func nextNotification() -> Notification? {
        guard let notify = unsafe PQnotifies(pointer) else { return nil }
        defer { unsafe PQfreemem(notify) }
        return unsafe Notification(
            channel: String(cString: notify.pointee.relname), payload: String(cString: notify.pointee.extra),
            processID: notify.pointee.be_pid)
    }
}
