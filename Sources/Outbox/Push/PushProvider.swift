/// A service that delivers device pushes.
protocol PushProvider: Sendable {
    /// Sends a push, and returns the outcome.
    func deliver(_ push: DevicePush) async -> PushOutcome

    /// Checks that it would accept a push, without notifying anyone. Returns nil or the error.
    func check() async -> String?
}

/// A push to a device, with its texts.
struct DevicePush: Sendable {
    let order: PushOrder

    /// The visible text, or nil for a silent push.
    let text: Text?

    struct Text: Sendable, Equatable {
        let title: String
        let body: String?
    }

    /// The notification that this one replaces on the device: of each conversation one for messages, and one for
    /// reactions.
    var collapseID: String { order.kind == .reaction ? "\(order.conversation)/reaction" : "\(order.conversation)" }

    /// The data for the app, by the protocol's names (`docs/push.md`).
    var payload: [String: PushValue] {
        var payload: [String: PushValue] = [
            "conversation_id": .string("\(order.conversation)"), "badge": .integer(order.badge),
        ]
        guard let text else {
            payload["read_seq"] = .integer(order.seq)
            return payload
        }
        payload["seq"] = .integer(order.seq)
        payload["sender_id"] = order.sender.map { .string("\($0)") }
        if order.kind == .reaction { payload["type"] = .string("reaction") }
        payload["emoji"] = order.emoji.map { .string($0) }
        payload["title"] = .string(text.title)
        payload["body"] = text.body.map { .string($0) }
        return payload
    }
}

/// A value in a push: the necessary subset of JSON.
enum PushValue: Sendable, Encodable {
    case string(String)
    case integer(Int64)
    case object([String: PushValue])

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .string(let string): try container.encode(string)
        case .integer(let integer): try container.encode(integer)
        case .object(let members): try container.encode(members)
        }
    }

    /// The value as a string, for providers that accept only strings.
    var text: String {
        switch self {
        case .string(let string): string
        case .integer(let integer): "\(integer)"
        case .object: ""
        }
    }
}
