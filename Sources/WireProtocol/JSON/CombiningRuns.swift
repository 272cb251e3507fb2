/// Detects long runs of combining characters before strings are compared.
///
/// Swift's `==`, `hashValue` and case mapping normalize strings, which sorts each run of combining characters in
/// quadratic time: 64 kB of accents take 10 seconds. Unicode's stream-safe form (UAX #15, section 13) has runs of at
/// most 30.
extension String {
    private static let longestRun = 128

    /// True if more than 128 combining characters follow each other.
    package var hasLongCombiningRun: Bool {
        // Each has at least two bytes, the first of them 0xCC or more: U+0300 and beyond.
        guard utf8.count > 2 * Self.longestRun, utf8.contains(where: { $0 >= 0xCC }) else { return false }
        var run = 0
        for scalar in unicodeScalars {
            run = scalar.isCombining ? run + 1 : 0
            if run > Self.longestRun { return true }
        }
        return false
    }
}

extension Unicode.Scalar {
    /// True if normalization sorts it. Three characters are not combining but decompose into two that are.
    fileprivate var isCombining: Bool {
        value >= 0x300
            && (properties.canonicalCombiningClass != .notReordered || [0xF73, 0xF75, 0xF81].contains(value))
    }
}

extension JSON {
    /// True if a name or a string in this value, or below it, has a long run of combining characters.
    package var hasLongCombiningRun: Bool {
        switch self {
        case .null, .bool, .number: false
        case .string(let text): text.hasLongCombiningRun
        case .array(let elements): elements.contains(where: \.hasLongCombiningRun)
        case .object(let object): object.hasLongCombiningRun
        }
    }
}

extension JSONObject {
    /// True if a name or a string in this object, or below it, has a long run of combining characters.
    package var hasLongCombiningRun: Bool {
        members.contains { $0.name.hasLongCombiningRun || $0.value.hasLongCombiningRun }
    }
}

extension JSON {
    /// Returns the path of the first text with a long run of combining characters below a path, or of the object with
    /// such a name; nil if that is the outermost.
    fileprivate func pathOfLongCombiningRun(below path: String) -> String? {
        switch self {
        case .null, .bool, .number: nil
        case .string(let text): text.hasLongCombiningRun ? path : nil
        case .array(let elements):
            elements.indices.lazy.compactMap { elements[$0].pathOfLongCombiningRun(below: "\(path)[\($0)]") }.first
        case .object(let object): object.pathOfLongCombiningRun(below: path + ".")
        }
    }
}

extension JSONObject {
    fileprivate func pathOfLongCombiningRun(below prefix: String) -> String? {
        members.lazy.compactMap { member in
            guard member.name.hasLongCombiningRun else {
                return member.value.pathOfLongCombiningRun(below: prefix + member.name)
            }
            return prefix.isEmpty ? nil : String(prefix.dropLast())
        }.first
    }
}

extension ProtocolError {
    /// Returns the error for params with such a text, which names its path.
    package static func longCombiningRun(in params: JSON?) -> ProtocolError {
        var path: String?
        if case .object(let object) = params { path = object.pathOfLongCombiningRun(below: "") }
        return ProtocolError(
            .invalidParams, "A text or a name can have at most 128 combining characters, such as accents, in a row.",
            data: path.map { [.init(name: "field", value: .string($0))] } ?? [])
    }
}
