import WireProtocol

/// The result of one check, with advice.
struct Finding: Sendable, Equatable {
    enum Level: String, Sendable {
        case ok, warning, problem

        /// The check could not run with the given settings.
        case skipped
    }

    let level: Level

    /// The name of the check, one word.
    let check: String

    /// The result as a sentence.
    let message: String

    /// The advice to the operator, in sentences; empty if nothing is to be done.
    let advice: String

    static func ok(_ check: String, _ message: String) -> Finding {
        Finding(level: .ok, check: check, message: message, advice: "")
    }

    static func warning(_ check: String, _ message: String, _ advice: String) -> Finding {
        Finding(level: .warning, check: check, message: message, advice: advice)
    }

    static func problem(_ check: String, _ message: String, _ advice: String) -> Finding {
        Finding(level: .problem, check: check, message: message, advice: advice)
    }

    static func skipped(_ check: String, _ message: String, _ advice: String) -> Finding {
        Finding(level: .skipped, check: check, message: message, advice: advice)
    }

    /// The finding as a line for people.
    var line: String {
        let words =
            [Self.padded(level.rawValue, 8), Self.padded(check, 14), message] + (advice.isEmpty ? [] : [advice])
        return words.joined(separator: " ").replacing("\n", with: " ")
    }

    /// The finding as a JSON object.
    var json: String {
        let object: JSONObject = [
            "level": .string(level.rawValue), "check": .string(check), "message": .string(message),
            "advice": .string(advice),
        ]
        return object.text
    }

    private static func padded(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }
}

extension String {
    /// The text with a full stop at its end.
    var sentenceEnd: String { hasSuffix(".") ? self : self + "." }
}
