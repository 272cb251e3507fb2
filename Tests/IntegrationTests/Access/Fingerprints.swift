import Foundation

/// The traceable marks of a scenario's bytes: ids of the database and unique texts.
///
/// A text's mark is `zq` and ten letters or digits. Phone numbers and birth dates are marks themselves. Birth dates are
/// of the last century, unlike all other dates. An id follows a quote, or is in PostgreSQL's array text or a cursor.
enum Fingerprints {
    private static let uuid = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"

    /// `NSRegularExpression`, since a debug build takes ten times as long to compare bytes in Swift.
    private static let pattern = Result {
        try NSRegularExpression(
            pattern: #"zq[a-z0-9]{10}|\+[0-9]{13}|(?<=")19[0-9]{2}-[0-9]{2}-[0-9]{2}|(?<=[",{:])\#(uuid)"#)
    }

    /// Returns the marks in these bytes, whatever surrounds them.
    static func find(in bytes: [UInt8]) throws -> Set<String> {
        let text = NSString(string: String(decoding: bytes, as: UTF8.self))
        let matches = try pattern.get().matches(
            in: text as String, range: NSRange(location: 0, length: text.length))
        return Set(matches.map { text.substring(with: $0.range) })
    }
}
