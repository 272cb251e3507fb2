import Foundations
import WireProtocol

extension Parameter {
    /// Checks the object's value of this param against the declaration.
    ///
    /// - Parameter path: the prefix of the name in errors.
    /// - Throws: `invalid_params`.
    func check(in object: JSONObject, path: String) throws(ProtocolError) {
        let value = object[name]
        let location = FieldLocation(path: path, name: name)
        switch (value, requirement) {
        case (nil, .required), (.null?, .required), (nil, .requiredOrNull):
            if !isExempt(in: object) { throw .invalid(location, "is missing") }
        case (nil, _), (.null?, .requiredOrNull), (.null?, .optional), (.null?, .optionalOrNull), (.null?, .clearable):
            break
        case (let value?, _):
            try type.check(value, at: location, mayBeEmpty: isExempt(in: object))
        }
    }

    private func isExempt(in object: JSONObject) -> Bool {
        exemptions.contains { exemption in
            exemption.values.contains { object[exemption.parameter] == $0 }
        }
    }
}

/// The location of a value in a request. The path and name are joined only for an error.
struct FieldLocation {
    let path: String
    let name: String
}

extension ProtocolError {
    fileprivate static func invalid(_ location: FieldLocation, _ problem: String) -> ProtocolError {
        .invalid(location.path + location.name, problem)
    }
}

extension ParameterType {
    fileprivate func check(_ value: JSON, at location: FieldLocation, mayBeEmpty: Bool) throws(ProtocolError) {
        switch self {
        case .string(let rule, let validator):
            guard case .string(let text) = value else {
                // The database rejects null for a value that cannot be cleared, with the reason.
                if validator == .database, value == .null { return }
                throw .invalid(location, "must be a string")
            }
            if validator == .server { try rule.check(text, at: location, mayBeEmpty: mayBeEmpty) }
        case .integer(let limits):
            guard case .number(let number) = value, let integer = number.integer else {
                throw .invalid(location, "must be an integer")
            }
            if limits.contains(integer) { return }
            if limits.upperBound == .max { throw .invalid(location, "must be \(limits.lowerBound) or more") }
            throw .invalid(location, "must be \(limits.lowerBound) to \(limits.upperBound)")
        case .number(let limits):
            guard case .number(let number) = value else { throw .invalid(location, "must be a number") }
            if number.hasTooManyDigits { throw .invalid(location, "has too many digits") }
            guard let value = number.double, limits.contains(value) else {
                throw .invalid(location, "must be \(Int(limits.lowerBound)) to \(Int(limits.upperBound))")
            }
        case .bool:
            guard case .bool = value else { throw .invalid(location, "must be true or false") }
        case .uuid:
            guard case .string(let text) = value, ID(text) != nil else { throw .invalid(location, "must be a UUID") }
        case .uuids(let limits):
            try Self.check(uuids: value, count: limits, at: location)
        case .object(let maxBytes, _):
            try Self.check(object: value, maxBytes: maxBytes, at: location)
        case .objects(let limits, _):
            try Self.check(objects: value, count: limits, at: location)
        case .fields(let members):
            guard case .object(let fields) = value else { throw .invalid(location, "must be an object") }
            let path = Params.path(in: location.path + location.name)
            for index in members.indices { try members[index].check(in: fields, path: path) }
        }
    }

    private static func check(uuids value: JSON, count limits: ClosedRange<Int>, at location: FieldLocation)
        throws(ProtocolError)
    {
        guard case .array(let elements) = value else { throw .invalid(location, "must be a list of UUIDs") }
        guard limits.contains(elements.count) else {
            throw .invalid(location, "must hold \(limits.lowerBound) to \(limits.upperBound) UUIDs")
        }
        for element in elements {
            guard case .string(let text) = element, ID(text) != nil else {
                throw .invalid(location, "must hold UUIDs only")
            }
        }
    }

    private static func check(objects value: JSON, count limits: ClosedRange<Int>, at location: FieldLocation)
        throws(ProtocolError)
    {
        guard case .array(let elements) = value else { throw .invalid(location, "must be a list of objects") }
        guard limits.contains(elements.count) else {
            throw .invalid(location, "must hold \(limits.lowerBound) to \(limits.upperBound) objects")
        }
        for (index, element) in elements.enumerated() {
            try check(
                object: element, maxBytes: nil,
                at: FieldLocation(path: location.path, name: "\(location.name)[\(index)]"))
        }
    }

    private static func check(object value: JSON, maxBytes: Int?, at location: FieldLocation) throws(ProtocolError) {
        guard case .object = value else { throw .invalid(location, "must be an object") }
        if let duplicate = value.duplicate {
            throw .invalid(location, "has the member \"\(Params.abbreviated(duplicate))\" twice")
        }
        if value.hasUnboundedNumber { throw .invalid(location, "has a number that is out of range") }
        if let maxBytes, value.text.utf8.count > maxBytes {
            throw .invalid(location, "must be at most \(maxBytes / 1024) KiB of JSON")
        }
    }
}

extension TextRule {
    /// Checks a text against the rule. Rules that only the database knows always pass.
    fileprivate func check(_ text: String, at location: FieldLocation, mayBeEmpty: Bool) throws(ProtocolError) {
        switch self {
        case .any, .httpsURL, .languageTag, .phoneNumber, .date, .timestamp, .username: break
        case .characters(let limits):
            let least = mayBeEmpty ? 0 : limits.lowerBound
            guard (least...limits.upperBound).contains(text.unicodeScalars.count) else {
                throw .invalid(location, "must be \(least) to \(limits.upperBound) characters long")
            }
        case .bytes(let limits):
            guard limits.contains(text.utf8.count) else {
                let least = limits.lowerBound == 0 ? "at most" : "\(limits.lowerBound) to"
                throw .invalid(location, "must be \(least) \(limits.upperBound) bytes long")
            }
        case .choice(let choices):
            guard choices.contains(text) else {
                let others = choices.dropLast().joined(separator: ", ")
                throw .invalid(location, "must be \(others) or \(choices.last ?? "")")
            }
        case .reaction:
            guard Self.isReaction(text) else {
                throw .invalid(location, "must be one emoji, or a name of a-z 0-9 _ + -")
            }
        case .email:
            guard Self.isEmail(text) else { throw .invalid(location, "must be an email address") }
        }
    }

    /// Returns true for a name, and for one grapheme cluster that is displayed as an emoji (Unicode Technical Standard
    /// #51). SQL checks the characters too, but knows no grapheme clusters.
    private static func isReaction(_ text: String) -> Bool {
        guard (1...32).contains(text.utf8.count) else { return false }
        if text.utf8.allSatisfy({ isNameByte($0) }) { return true }
        guard text.count == 1, let first = text.unicodeScalars.first else { return false }
        return first.properties.isEmojiPresentation
            || first.properties.isEmoji && text.unicodeScalars.dropFirst().contains { $0.value >= 0x20E3 }
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"),
            UInt8(ascii: "+"), UInt8(ascii: "-"):
            true
        default: false
        }
    }

    /// Returns true if the text has the form of an email address that SQL checks too.
    private static func isEmail(_ address: String) -> Bool {
        let parts = address.split(separator: "@", omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[0].isEmpty, address.utf8.count <= 254 else { return false }
        let labels = parts[1].split(separator: ".", omittingEmptySubsequences: false)
        return labels.count > 1 && labels.allSatisfy(isHostLabel)
            && labels.last?.utf8.allSatisfy(\.isDigit) == false
            && !address.unicodeScalars.contains { $0.properties.isWhitespace || $0.value < 0x20 }
    }

    private static func isHostLabel(_ label: Substring) -> Bool {
        (1...63).contains(label.unicodeScalars.count) && !label.hasPrefix("-") && !label.hasSuffix("-")
    }
}

extension Alternatives {
    /// - Throws: `invalid_params` if both params are given, or neither is and one is required.
    func check(in object: JSONObject) throws(ProtocolError) {
        func isGiven(_ name: String) -> Bool { object[name].map { $0 != .null } ?? false }
        switch (isGiven(first), isGiven(second)) {
        case (true, true): throw .invalid(second, "cannot be given together with \"\(first)\"")
        case (false, false) where isRequired:
            throw .invalid(first, "is missing: give \"\(first)\", or a \"\(second)\"")
        case (true, false), (false, true), (false, false): break
        }
    }
}

extension JSONNumber {
    /// True if the number has more than 400 digits. PostgreSQL's `numeric` accepts more.
    fileprivate var hasTooManyDigits: Bool { text.utf8.count > 400 }

    /// True if the exponent is beyond ±1,000. PostgreSQL refuses a large one of a zero too.
    fileprivate var hasHugeExponent: Bool {
        guard let sign = text.firstIndex(where: { $0 == "e" || $0 == "E" }) else { return false }
        return (Int(text[text.index(after: sign)...])?.magnitude ?? .max) > 1_000
    }
}

extension JSON {
    /// True if the value contains a number that is too large or too small for a double, or has more than 400 digits or
    /// an exponent beyond ±1,000, so that PostgreSQL's `jsonb` may not be able to store it.
    var hasUnboundedNumber: Bool {
        switch self {
        case .null, .bool, .string: false
        case .number(let number):
            number.hasTooManyDigits || number.hasHugeExponent || number.double == nil
                || number.double == 0 && number.integer != 0
        case .array(let elements): elements.contains { $0.hasUnboundedNumber }
        case .object(let object): object.members.contains { $0.value.hasUnboundedNumber }
        }
    }
}
