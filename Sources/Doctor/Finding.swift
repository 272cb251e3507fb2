internal import Messaging

/// What `postline doctor` found of one thing, and what to do about it.
struct Finding: Sendable, Equatable {
    enum Level: String, Sendable {
        case ok, warning, problem

        /// It could not be asked with what was given.
        case skipped
    }

    let level: Level

    /// What was looked at, in a word.
    let check: String

    /// A sentence.
    let message: String

    /// What to do, in sentences; empty where there is nothing to do.
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

    /// As a person reads it, in one line.
    var line: String {
        let words =
            [Self.padded(level.rawValue, 8), Self.padded(check, 14), message] + (advice.isEmpty ? [] : [advice])
        return words.joined(separator: " ").replacing("\n", with: " ")
    }

    /// As a program reads it: one object.
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
    /// With a full stop, where it has no end of its own.
    var sentenceEnd: String { hasSuffix(".") ? self : self + "." }
}
