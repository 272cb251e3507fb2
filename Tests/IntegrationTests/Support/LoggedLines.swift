import Logging
import Synchronization

/// What a node of this process logs: `warning message key=value`, a line an event.
final class LoggedLines: LogHandler {
    private let lines = Mutex<[String]>([])

    var all: [String] { lines.withLock { $0 } }

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
