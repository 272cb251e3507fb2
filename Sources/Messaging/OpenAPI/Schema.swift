import WireProtocol

/// The subset of an OpenAPI 3.0 schema object that the protocol needs.
struct Schema: Sendable {
    let members: [JSONObject.Member]

    var json: JSON { .object(JSONObject(members)) }

    init(members: [JSONObject.Member]) {
        self.members = members
    }

    init(_ members: KeyValuePairs<String, JSON>) {
        self.members = members.map { JSONObject.Member(name: $0.key, value: $0.value) }
    }

    /// Returns the schema with more members.
    func adding(_ more: KeyValuePairs<String, JSON>) -> Schema {
        Schema(members: members + more.map { JSONObject.Member(name: $0.key, value: $0.value) })
    }

    /// Returns the schema of an object's member.
    func property(_ name: String) -> JSON? {
        guard case .object(let properties)? = JSONObject(members)["properties"] else { return nil }
        return properties[name]
    }

    func described(_ description: String) -> Schema { adding(["description": .string(description)]) }

    /// The nullable schema. It must have a type: OpenAPI 3.0 defines `nullable` only with one.
    var nullable: Schema {
        let members = members.map { member in
            guard member.name == "enum", case .array(let choices) = member.value else { return member }
            return JSONObject.Member(name: "enum", value: .array(choices + [.null]))
        }
        return Schema(members: members + [.init(name: "nullable", value: .bool(true))])
    }
}

extension Schema {
    static let string = Schema(["type": .string("string")])
    static let bool = Schema(["type": .string("boolean")])
    static let number = Schema(["type": .string("number")])

    /// A count, a sequence number or a version.
    static let integer: Schema = integer(in: 0 ... .max)

    /// The keyword for the pattern of a string with a format.
    ///
    /// Not `pattern`: aiopenapi3 converts such a string by its format and then fails at the pattern.
    static let exactForm = "x-pattern"

    /// A UUID in lower case, as in results.
    static let uuid = Schema([
        "type": .string("string"), "format": .string("uuid"),
        exactForm: .string("^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"),
    ])

    /// RFC 3339 in UTC with microseconds.
    static let timestamp = Schema([
        "type": .string("string"), "format": .string("date-time"),
        exactForm: .string(#"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{6}Z$"#),
    ])

    static let date = Schema([
        "type": .string("string"), "format": .string("date"), exactForm: .string(#"^\d{4}-\d{2}-\d{2}$"#),
    ])

    /// An object with arbitrary members.
    static let anyObject = Schema(["type": .string("object")])

    static func integer(in limits: ClosedRange<Int64>) -> Schema {
        let least = Schema([
            "type": .string("integer"), "format": .string("int64"), "minimum": .integer(limits.lowerBound),
        ])
        return limits.upperBound == .max ? least : least.adding(["maximum": .integer(limits.upperBound)])
    }

    static func choice(_ choices: [String]) -> Schema {
        Schema(["type": .string("string"), "enum": .array(choices.map { .string($0) })])
    }

    static func array(of element: Schema) -> Schema {
        Schema(["type": .string("array"), "items": element.json])
    }

    /// Returns an object schema with required and optional members.
    ///
    /// It is open: later versions may add members, which clients ignore.
    static func object(_ properties: [(String, Schema)], optional: [(String, Schema)] = []) -> Schema {
        let schema = Schema([
            "type": .string("object"),
            "properties": .object(
                JSONObject((properties + optional).map { JSONObject.Member(name: $0.0, value: $0.1.json) })),
        ])
        guard !properties.isEmpty else { return schema }
        return schema.adding(["required": .array(properties.map { .string($0.0) })])
    }

    /// Returns a reference to one of ``named``.
    fileprivate static func reference(_ name: String) -> Schema {
        Schema(["$ref": .string("#/components/schemas/\(name)")])
    }
}

/// References to the protocol's objects.
extension Schema {
    static let profile = reference("Profile")
    static let profileList = reference("ProfileList")
    static let profileOrList = reference("ProfileOrList")
    static let presence = reference("Presence")
    static let me = reference("Me")
    static let conversation = reference("Conversation")
    static let conversationOrLeft = reference("ConversationOrLeft")
    static let message = reference("Message")
    static let reactions = reference("Reactions")
    static let changes = reference("Changes")
    static let tokens = reference("Tokens")
    static let error = reference("Error")

    /// A conversation, with its members' profiles if requested.
    static let conversationWithProfiles = reference("ConversationWithProfiles")

    /// Tokens, with the merge result if a guest was merged.
    static let tokensAndMerged = reference("TokensAndMerged")

    /// The numbers of merged objects.
    static let merged = object([("conversations", .integer), ("messages", .integer)])
}
