import Logging

extension Logger {
    /// Returns the program's logger, which writes one line per event to standard error.
    static func postline(_ level: Logger.Level) -> Logger {
        Logger(label: "postline") { _ in LogLines(level) }
    }
}
