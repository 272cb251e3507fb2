import BoundedWait
import Logging
import Synchronization

/// A log handler that collects a node's lines as `warning message key=value`.
final class LoggedLines: LogHandler {
    private let lines = Mutex<[String]>([])

    /// The lines so far.
    var all: [String] { lines.withLock { $0 } }

    /// Waits for a line that contains the text, and returns it.
    func line(_ text: String) async throws -> String {
        try await eventually("“\(text)” in the log") { all.first { $0.contains(text) } }
    }

    var logLevel: Logger.Level {
        get { .info }
        set {}
    }

    var metadata: Logger.Metadata {
        get { [:] }
        set {}
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { nil }
        set {}
    }

    func log(event: LogEvent) {
        let metadata = (event.metadata ?? [:]).map { " \($0.key)=\($0.value)" }.sorted().joined()
        lines.withLock { $0.append("\(event.level) \(event.message)\(metadata)") }
    }
}
