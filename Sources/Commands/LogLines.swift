import FoundationEssentials
import Foundations
import Logging
import Synchronization
import SystemPackage
import WireProtocol

/// Writes each log event as one line on standard error: time, level, message, and metadata as `key=value`.
///
/// An event is always one line with distinguishable values, whatever the texts contain.
struct LogLines: LogHandler {
    var logLevel: Logger.Level
    var metadata: Logger.Metadata = [:]
    var metadataProvider: Logger.MetadataProvider?

    /// The output, locked so that lines of several threads do not mix.
    private static let output = Mutex(FileDescriptor.standardError)

    init(_ level: Logger.Level) { logLevel = level }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let own = metadata.merging(metadataProvider?.get() ?? [:]) { $1 }
        let line = Self.line(
            at: Timestamp.text(.now), event.level, event.message.description,
            own.merging(event.metadata ?? [:]) { $1 })
        // If standard error is closed, there is nowhere to write.
        Self.output.withLock { _ = try? $0.writeAll(line.utf8) }
    }

    /// Returns the line of an event, with the newline.
    static func line(at time: String, _ level: Logger.Level, _ message: String, _ metadata: Logger.Metadata) -> String {
        var line = "\(time) \(level) \(printable(message))"
        for (key, value) in metadata.sorted(by: { $0.key < $1.key }) { line += " \(key)=\(written(value))" }
        return line + "\n"
    }

    private static func written(_ value: Logger.Metadata.Value) -> String {
        let text = "\(value)"
        let isPlain = !text.isEmpty && text.utf8.allSatisfy { 0x21...0x7E ~= $0 && $0 != 0x22 && $0 != 0x3D }
        return isPlain ? text : JSON.string(text).text
    }

    /// Returns the text with control characters and line breaks escaped.
    private static func printable(_ text: String) -> String {
        String(
            String.UnicodeScalarView(text.unicodeScalars.map { $0.properties.generalCategory == .control ? " " : $0 }))
    }
}
