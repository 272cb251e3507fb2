import LineClient
import Messaging

/// The state of a client: all messages of its conversations, and names.
struct ClientState: Sendable {
    private(set) var contents: [String: [Int: String]] = [:]
    private(set) var names: [String: String] = [:]

    /// Takes in what the server sent, and gives each way in which that breaks the promise.
    mutating func apply(_ changes: JSON) -> [String] {
        var broken: [String] = []
        for profile in changes.list("profiles") { names[profile.text("id")] = profile.text("full_name") }
        for message in changes.list("messages") where message["version"] == .integer(1) {
            let (conversation, seq) = (message.text("conversation_id"), message.number("seq"))
            if contents[conversation]?[seq] != nil { broken.append("message \(seq) came twice") }
            contents[conversation, default: [:]][seq] = message.text("content")
        }
        return broken
    }

    /// Takes in what `messages.list` gave of messages that a Changes left out.
    mutating func fill(_ conversation: String, _ messages: [JSON]) {
        // What is newer comes by itself.
        let newest = contents[conversation]?.keys.max() ?? 0
        for message in messages where message.number("seq") < newest {
            contents[conversation, default: [:]][message.number("seq")] = message.text("content")
        }
    }

    /// The number of the first message that is missing before the newest; nil where none is.
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
