import WireProtocol

/// Schemas of params, from their declarations.
///
/// A schema accepts everything that the server accepts, and may accept more: bytes are expressed as characters, and
/// some rules only in words.
extension Schema {
    /// Creates the schema of an object of params, or of a param's members. Other members are refused.
    init(of parameters: [Parameter], alternatives: Alternatives? = nil) {
        let required = parameters.filter { $0.isRequired && $0.exemptions.isEmpty }.names
        let properties = parameters.map { parameter in
            JSONObject.Member(name: parameter.name, value: Schema(of: parameter).json)
        }
        var schema = Schema([
            "type": .string("object"), "properties": .object(JSONObject(properties)),
            "additionalProperties": .bool(false),
        ])
        if !required.isEmpty { schema = schema.adding(["required": .array(required.map { .string($0) })]) }
        // In words, since generators produce wrong types for rules about required combinations.
        if let alternatives { schema = schema.described(alternatives.rule) }
        self = schema
    }

    private init(of parameter: Parameter) {
        var schema = Schema(of: parameter.type)
        if !parameter.exemptions.isEmpty { schema = schema.without("minLength") }
        if parameter.acceptsNull || !parameter.exemptions.isEmpty { schema = schema.nullable }
        if let standard = parameter.defaultValue { schema = schema.adding(["default": standard]) }
        let bound = parameter.type.boundInWords.map { " \($0)" } ?? ""
        let null = parameter.requirement == .clearable ? " Null clears it; if absent, it is unchanged." : ""
        let exemptions = parameter.exemptions.map {
            "\"\($0.parameter)\" is " + $0.values.map(\.text).joined(separator: " or ")
        }
        let exception =
            exemptions.isEmpty ? "" : " Required and not empty unless \(exemptions.joined(separator: ", or "))."
        self = schema.described(parameter.summary + bound + null + exception)
    }

    init(of type: ParameterType) {
        switch type {
        case .string(let rule, _): self.init(of: rule)
        case .integer(let limits): self = .integer(in: limits)
        case .number(let limits):
            self = .number.adding([
                "minimum": .integer(Int(limits.lowerBound)), "maximum": .integer(Int(limits.upperBound)),
            ])
        case .bool: self = .bool
        case .uuid: self = .anyUUID
        case .uuids(let limits):
            self = .array(of: .anyUUID).adding([
                "minItems": .integer(limits.lowerBound), "maxItems": .integer(limits.upperBound),
            ])
        case .object(_, let members): self = members.isEmpty ? .anyObject : Schema(of: members)
        case .objects(let limits, let members):
            self = .array(of: Schema(of: members)).adding([
                "minItems": .integer(limits.lowerBound), "maxItems": .integer(limits.upperBound),
            ])
        case .fields(let members): self = Schema(of: members)
        }
    }

    private init(of rule: TextRule) {
        switch rule {
        case .any: self = .string
        case .characters(let limits): self = .text(limits.lowerBound, limits.upperBound)
        // A character takes one to four bytes.
        case .bytes(let limits): self = .text((limits.lowerBound + 3) / 4, limits.upperBound)
        case .choice(let choices): self = .choice(choices)
        case .email: self = .text(3, 254).adding(["format": .string("email")])
        case .httpsURL(let maxBytes):
            self = .text(9, maxBytes).adding(["format": .string("uri"), "pattern": .string("^[Hh][Tt][Tt][Pp][Ss]://")])
        case .languageTag: self = .string.adding(["pattern": .string("^[A-Za-z]{1,8}(-[A-Za-z0-9]{1,8})*$")])
        case .phoneNumber: self = .string.adding(["pattern": .string(#"^\+[1-9][0-9]{6,14}$"#)])
        case .date: self = .date
        case .timestamp: self = .anyTimestamp
        case .reaction: self = .text(1, 32)
        case .username: self = .string.adding(["pattern": .string("^[A-Za-z][A-Za-z0-9_.]{2,29}$")])
        }
    }

    /// A timestamp in any zone and precision.
    private static let anyTimestamp = Schema([
        "type": .string("string"), "format": .string("date-time"),
        exactForm: .string(
            #"^(19[7-9][0-9]|[2-9][0-9]{3})-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(\.\d{1,9})?([Zz]|[+-]\d{2}:\d{2})$"#),
    ])

    /// A UUID in either case, which params accept.
    private static let anyUUID = Schema(["type": .string("string"), "format": .string("uuid")])

    private static func text(_ least: Int, _ most: Int) -> Schema {
        let text = string.adding(["maxLength": .integer(most)])
        return least == 0 ? text : text.adding(["minLength": .integer(least)])
    }

    private func without(_ name: String) -> Schema {
        Schema(members: members.filter { $0.name != name })
    }
}

extension ParameterType {
    /// The rules that no schema can express.
    fileprivate var boundInWords: String? {
        switch self {
        case .string(.bytes(let limits), _):
            limits.lowerBound == 0
                ? "At most \(limits.upperBound) bytes." : "\(limits.lowerBound) to \(limits.upperBound) bytes."
        case .string(.languageTag, _): "A BCP 47 tag."
        case .string(.phoneNumber, _): "An E.164 number."
        case .string(.reaction, _): "At most 32 bytes."
        case .string(.username, _): "It is stored in lower case."
        case .object(let maxBytes?, _): "At most \(maxBytes / 1024) KiB, encoded without whitespace."
        case .string, .integer, .number, .bool, .uuid, .uuids, .object, .objects, .fields: nil
        }
    }
}

extension Alternatives {
    /// A sentence about the permitted combination.
    fileprivate var rule: String {
        isRequired
            ? "Exactly one of \"\(first)\" and \"\(second)\" is required."
            : "\"\(first)\" and \"\(second)\" are mutually exclusive."
    }
}
