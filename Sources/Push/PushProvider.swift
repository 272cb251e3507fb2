internal import Messaging

/// One who takes pushes to devices.
protocol PushProvider: Sendable {
    /// Gives it a push, and says what became of it.
    func deliver(_ push: Push) async -> PushOutcome

    /// Asks whether it would take one, without telling anybody anything; nil where it would, else what is wrong.
    func check() async -> String?
}

/// An order, in words.
struct Push: Sendable {
    let order: PushOrder

    /// Nil where there is nothing to show.
    let text: Text?

    struct Text: Sendable, Equatable {
        let title: String
        let body: String?
    }

    /// What the app is told beside what it shows, by the protocol's names (`docs/push.md`).
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
        payload["title"] = .string(text.title)
        payload["body"] = text.body.map { .string($0) }
        return payload
    }
}

/// What stands in a push: JSON, as far as it is needed.
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

    /// For those who take strings alone.
    var text: String {
        switch self {
        case .string(let string): string
        case .integer(let integer): "\(integer)"
        case .object: ""
        }
    }
}
