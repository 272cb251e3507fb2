import LineClient
import WireProtocol

/// The state that a client builds from changes: complete conversations and users' names.
struct ClientState: Sendable {
    private(set) var contents: [String: [Int: String]] = [:]
    private(set) var names: [String: String] = [:]

    /// Applies a change from the server, and returns the violated guarantees.
    mutating func apply(_ changes: JSON) -> [String] {
        var violations: [String] = []
        for profile in changes.list("profiles") { names[profile.text("id")] = profile.text("full_name") }
        for message in changes.list("messages") where message["version"] == .integer(1) {
            let (conversation, seq) = (message.text("conversation_id"), message.number("seq"))
            if contents[conversation]?[seq] != nil { violations.append("message \(seq) came twice") }
            contents[conversation, default: [:]][seq] = message.text("content")
        }
        return violations
    }

    /// Adds messages of `messages.list` that a change had left out.
    mutating func fill(_ conversation: String, _ messages: [JSON]) {
        // Newer messages arrive as pushes.
        let newest = contents[conversation]?.keys.max() ?? 0
        for message in messages where message.number("seq") < newest {
            contents[conversation, default: [:]][message.number("seq")] = message.text("content")
        }
    }

    /// Returns the number of the first missing message, or nil if none is missing.
    func gap(in conversation: String) -> Int? {
        let held = contents[conversation] ?? [:]
        return (1..<(held.keys.max() ?? 0) + 1).first { held[$0] == nil }
    }

    func has(_ content: String, in conversation: String) -> Bool {
        contents[conversation]?.values.contains(content) ?? false
    }
}

extension JSON {
    func text(_ name: String) -> String { self[name]?.stringValue ?? "" }
    func number(_ name: String) -> Int { self[name]?.integerValue ?? 0 }
    func list(_ name: String) -> [JSON] { self[name]?.arrayValue ?? [] }
}
