internal import Logging

extension Logger {
    /// The program's own log, one line an event on standard error.
    static func postline(_ level: Logger.Level) -> Logger {
        var logger = Logger(label: "postline") { StreamLogHandler.standardError(label: $0) }
        logger.logLevel = level
        return logger
    }
}
