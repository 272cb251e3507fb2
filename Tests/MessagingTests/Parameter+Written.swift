@testable import WireProtocol
@testable import Messaging

/// The notation of params in `docs/protocol.md`.
extension Messaging.Operation {
    var writtenParams: String {
        guard !parameters.isEmpty else { return "" }
        let written = "`\(parameters.map(\.written).joined(separator: ", "))`"
        guard let alternatives else { return written }
        let both = "`\(alternatives.first)`, `\(alternatives.second)`"
        return written + (alternatives.isRequired ? "; one of \(both)" : "; not both of \(both)")
    }
}

extension Parameter {
    /// The param in this notation: `limit? (1…100) = 50`.
    fileprivate var written: String {
        let mark = isRequired ? "" : "?"
        let null = [.requiredOrNull, .optionalOrNull].contains(requirement) ? "|null" : ""
        let standard = defaultValue.map { " = \($0.text)" } ?? ""
        return name + mark + type.written(exemptions) + null + standard
    }
}

extension ParameterType {
    fileprivate func written(_ exemptions: [Parameter.Exemption]) -> String {
        switch self {
        case .string(let rule, _): rule.written(exemptions)
        case .integer(let limits) where limits.upperBound == .max: " (≥ \(limits.lowerBound))"
        case .integer(let limits): " (\(limits.lowerBound)…\(Self.written(limits.upperBound)))"
        case .number(let limits): " (\(Int(limits.lowerBound))…\(Int(limits.upperBound)))"
        case .bool: ": bool"
        case .uuid: ": uuid"
        case .uuids(let limits): ": [\(limits.lowerBound)…\(limits.upperBound) uuids]"
        case .object(let maxBytes?, _): ": object (≤ \(maxBytes / 1024) KiB)"
        case .object(nil, let members), .fields(let members):
            ": {\(members.map(\.written).joined(separator: ", "))}"
        // The members are those of the param in the singular.
        case .objects(let limits, _): ": [\(limits.lowerBound)…\(limits.upperBound) objects]"
        }
    }

    /// The number with commas between thousands, or as a power of two.
    fileprivate static func written(_ number: some FixedWidthInteger) -> String {
        if number > 1_000_000, number.nonzeroBitCount == 1 { return "2^\(number.trailingZeroBitCount)" }
        let digits = String(number)
        return digits.enumerated().map { index, digit in
            index > 0 && (digits.count - index).isMultiple(of: 3) ? ",\(digit)" : "\(digit)"
        }.joined()
    }
}

extension TextRule {
    fileprivate func written(_ exemptions: [Parameter.Exemption]) -> String {
        switch self {
        case .any: ""
        case .characters(let limits): " (\(Self.written(limits)) characters\(Self.written(exemptions)))"
        case .bytes(let limits): " (\(Self.written(limits)) bytes\(Self.written(exemptions)))"
        case .choice(let choices): ": " + choices.map { "\"\($0)\"" }.joined(separator: "|")
        case .email: " (email address)"
        case .httpsURL(let maxBytes): " (https URL, ≤ \(ParameterType.written(maxBytes)) bytes)"
        case .languageTag: " (BCP 47)"
        case .phoneNumber: " (E.164)"
        case .date: ": date"
        case .timestamp: ": time"
        case .reaction: " (one emoji, or a name of a-z 0-9 _ + -)"
        case .username: " (3…30 of a-z 0-9 _ . ; starts with a letter; case-folded)"
        }
    }

    private static func written(_ limits: ClosedRange<Int>) -> String {
        let most = ParameterType.written(limits.upperBound)
        return limits.lowerBound == 0 ? "≤ \(most)" : "\(limits.lowerBound)…\(most)"
    }

    private static func written(_ exemptions: [Parameter.Exemption]) -> String {
        exemptions.map {
            ", or none with \($0.parameter) " + $0.values.map(\.text).joined(separator: " or ")
        }.joined()
    }
}
