import Foundations
import WireProtocol

/// The JSON result of a function of the schema `admin`, formatted for a terminal.
struct AdminResult: Sendable {
    private let value: JSON

    /// - Throws: `AdminFailure` if the text is not JSON.
    init(_ text: String) throws {
        do {
            value = try JSON(parsing: text)
        } catch {
            throw AdminFailure("The database gave an answer that is no JSON.", AdminFailure.failed)
        }
    }

    private init(_ value: JSON) { self.value = value }

    /// Returns a member of an object, or null if there is none.
    subscript(name: String) -> AdminResult {
        guard case .object(let object) = value else { return AdminResult(JSON.null) }
        return AdminResult(object[name] ?? .null)
    }

    /// The elements of an array.
    var elements: [AdminResult] {
        guard case .array(let elements) = value else { return [] }
        return elements.map { AdminResult($0) }
    }

    var isNull: Bool { value == .null }

    var isTrue: Bool { value == .bool(true) }

    var count: Int { Int(shown) ?? 0 }

    /// The value in a line of a terminal: times to the second, a hyphen for none.
    var shown: String {
        switch value {
        case .null: "-"
        case .bool(let isTrue): isTrue ? "yes" : "no"
        case .number: value.text
        case .string(let text): Self.isTime(text) ? Self.shortened(time: text) : PlainText.line(text)
        case .array: elements.isEmpty ? "-" : elements.map(\.shown).joined(separator: " ")
        case .object(let object):
            object.members.isEmpty
                ? "-" : object.members.map { "\($0.name)=\(AdminResult($0.value).shown)" }.joined(separator: " ")
        }
    }

    /// Returns true for a time as `app.utc` writes it, such as `2026-11-23T08:00:00.000000Z`.
    private static func isTime(_ text: String) -> Bool {
        text.utf8.count == 27 && text.hasSuffix("Z") && text.dropFirst(10).first == "T"
    }

    private static func shortened(time: String) -> String {
        time.hasPrefix("9999-") ? "for good" : "\(time.prefix(19))Z"
    }
}

extension AdminResult {
    /// Returns a line per member: `name  value`.
    func lines(_ members: [(title: String, name: String)]) -> [String] {
        let width = members.map(\.title.count).max() ?? 0
        return members.map { "\(TextWidth.fit($0.title, to: width))  \(self[$0.name].shown)" }
    }

    /// Returns the elements as a table with a header, or the given sentence if there are none.
    func table(_ columns: [(title: String, name: String)], otherwise none: String) -> [String] {
        if elements.isEmpty { return [none] }
        let rows = [columns.map(\.title)] + elements.map { element in columns.map { element[$0.name].shown } }
        let widths = columns.indices.map { column in rows.map { TextWidth.of($0[column]) }.max() ?? 0 }
        return rows.map { row in
            let last = row.count - 1
            return row.indices.map { $0 == last ? row[$0] : TextWidth.fit(row[$0], to: widths[$0]) }
                .joined(separator: "  ")
        }
    }

    /// The user's most specific name, followed by the id.
    var person: String {
        let name = ["full_name", "username", "email"].map { self[$0] }.first { !$0.isNull }
        return (name.map { "\($0.shown) " } ?? "") + "(\(self["id"].shown))"
    }
}
