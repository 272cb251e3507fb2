import CPostgres
import Logging

/// Logs a connection's notices and warnings, at debug.
final class NoticeLog: Sendable {
    private let logger: Logger

    init(_ logger: Logger) { self.logger = logger }

    /// libpq's notice receiver; `context` is the log, which the connection's owner keeps alive.
    static func receive(_ context: UnsafeMutableRawPointer?, _ result: OpaquePointer?) {
        guard let context = unsafe context, let result = unsafe result else { return }
        let log = unsafe Unmanaged<NoticeLog>.fromOpaque(context).takeUnretainedValue()
        guard log.logger.logLevel <= .debug else { return }
        let text = unsafe PQresultErrorField(result, DiagnosticField.message.code).map { unsafe String(cString: $0) }
        let state = unsafe PQresultErrorField(result, DiagnosticField.sqlState.code).map { unsafe String(cString: $0) }
        log.logger.debug(
            "PostgreSQL gives notice", metadata: ["sqlstate": "\(state ?? "")", "notice": "\(text ?? "")"])
    }
}
