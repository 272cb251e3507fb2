extension Parameter {
    /// Holds the value that the object has for it, or has not, against the declaration.
    ///
    /// - Parameter path: what stands before its name in an error.
    /// - Throws: `invalid_params`.
    func check(in object: JSONObject, path: String) throws(ProtocolError) {
        let value = object[name]
        let place = Place(path: path, name: name)
        switch (value, presence) {
        case (nil, .required), (.null?, .required), (nil, .requiredOrNull):
            if !isExempt(in: object) { throw .invalid(place, "is missing") }
        case (nil, _), (.null?, .requiredOrNull), (.null?, .optional), (.null?, .optionalOrNull), (.null?, .clearable):
            break
        case (let value?, _):
            try type.check(value, at: place, mayBeEmpty: exemption != nil && isExempt(in: object))
        }
    }

    private func isExempt(in object: JSONObject) -> Bool {
        guard let exemption else { return false }
        return object[exemption.parameter] == .string(exemption.value)
    }
}

/// Where a value stands, as an error names it. The two are put together for an error alone.
struct Place {
    let path: String
    let name: String
}

extension ProtocolError {
    fileprivate static func invalid(_ place: Place, _ what: String) -> ProtocolError {
        .invalid(place.path + place.name, what)
    }
}

extension ParameterType {
    fileprivate func check(_ value: JSON, at place: Place, mayBeEmpty: Bool) throws(ProtocolError) {
        switch self {
        case .string(let rule, let holder):
            guard case .string(let text) = value else {
                // What is stored and is not to be cleared: why not, the database says.
                if holder == .database, value == .null { return }
                throw .invalid(place, "must be a string")
            }
            if holder == .server { try rule.check(text, at: place, mayBeEmpty: mayBeEmpty) }
        case .integer(let limits):
            guard case .number(let number) = value, let integer = number.integer else {
                throw .invalid(place, "must be an integer")
            }
            if limits.contains(integer) { return }
            if limits.upperBound == .max { throw .invalid(place, "must be \(limits.lowerBound) or more") }
            throw .invalid(place, "must be \(limits.lowerBound) to \(limits.upperBound)")
        case .number(let limits):
            guard case .number(let number) = value else { throw .invalid(place, "must be a number") }
            if number.hasTooManyDigits { throw .invalid(place, "has too many digits") }
            guard let value = number.double, limits.contains(value) else {
                throw .invalid(place, "must be \(Int(limits.lowerBound)) to \(Int(limits.upperBound))")
            }
        case .bool:
            guard case .bool = value else { throw .invalid(place, "must be true or false") }
        case .uuid:
            guard case .string(let text) = value, ID(text) != nil else { throw .invalid(place, "must be a UUID") }
        case .uuids(let limits):
            try Self.check(uuids: value, count: limits, at: place)
        case .object(let maxBytes, _):
            try Self.check(object: value, maxBytes: maxBytes, at: place)
        case .fields(let members):
            guard case .object(let fields) = value else { throw .invalid(place, "must be an object") }
            let path = Params.path(in: place.path + place.name)
            for index in members.indices { try members[index].check(in: fields, path: path) }
        }
    }

    private static func check(uuids value: JSON, count limits: ClosedRange<Int>, at place: Place) throws(ProtocolError)
    {
        guard case .array(let elements) = value else { throw .invalid(place, "must be a list of UUIDs") }
        guard limits.contains(elements.count) else {
            throw .invalid(place, "must hold \(limits.lowerBound) to \(limits.upperBound) UUIDs")
        }
        for element in elements {
            guard case .string(let text) = element, ID(text) != nil else {
                throw .invalid(place, "must hold UUIDs only")
            }
        }
    }

    private static func check(object value: JSON, maxBytes: Int?, at place: Place) throws(ProtocolError) {
        guard case .object = value else { throw .invalid(place, "must be an object") }
        if let twice = value.duplicate { throw .invalid(place, "has the member \"\(Params.shown(twice))\" twice") }
        if value.hasUnboundedNumber { throw .invalid(place, "has a number that is out of range") }
        if let maxBytes, value.text.utf8.count > maxBytes {
            throw .invalid(place, "must be at most \(maxBytes / 1024) KiB of JSON")
        }
    }
}

extension TextRule {
    /// Those rules that the database alone knows pass here.
    fileprivate func check(_ text: String, at place: Place, mayBeEmpty: Bool) throws(ProtocolError) {
        switch self {
        case .any, .httpsURL, .languageTag, .phoneNumber, .date, .timestamp, .username: break
        case .characters(let limits):
            let least = mayBeEmpty ? 0 : limits.lowerBound
            guard (least...limits.upperBound).contains(text.unicodeScalars.count) else {
                throw .invalid(place, "must be \(least) to \(limits.upperBound) characters long")
            }
        case .bytes(let limits):
            guard limits.contains(text.utf8.count) else {
                let least = limits.lowerBound == 0 ? "at most" : "\(limits.lowerBound) to"
                throw .invalid(place, "must be \(least) \(limits.upperBound) bytes long")
            }
        case .choice(let choices):
            guard choices.contains(text) else {
                let others = choices.dropLast().joined(separator: ", ")
                throw .invalid(place, "must be \(others) or \(choices.last ?? "")")
            }
        case .email:
            guard Self.isEmail(text) else { throw .invalid(place, "must be an email address") }
        }
    }

    /// The form that SQL holds an address against too.
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
    /// - Throws: `invalid_params` where both are there, or neither and one must be.
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
    /// Whether it is written with more digits than any use has. PostgreSQL's `numeric` takes more than these.
    fileprivate var hasTooManyDigits: Bool { text.utf8.count > 400 }
}

extension JSON {
    /// Whether a number stands anywhere in this value that no double comes near, and perhaps not even PostgreSQL's `jsonb`
    /// can hold: too large, too small, or written with more digits than any use has.
    var hasUnboundedNumber: Bool {
        switch self {
        case .null, .bool, .string: false
        case .number(let number):
            number.hasTooManyDigits || number.double == nil || number.double == 0 && number.integer != 0
        case .array(let elements): elements.contains { $0.hasUnboundedNumber }
        case .object(let object): object.members.contains { $0.value.hasUnboundedNumber }
        }
    }
}
