internal import Logging

extension Logger {
    /// The program's own log, one line an event on standard error.
    static func postline(_ level: Logger.Level) -> Logger {
        Logger(label: "postline") { _ in LogLines(level) }
    }
}
