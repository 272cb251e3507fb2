/// The subset of an OpenAPI 3.0 schema object that the protocol needs.
package struct Schema: Sendable {
    package let members: [JSONObject.Member]

    package var json: JSON { .object(JSONObject(members)) }

    package init(members: [JSONObject.Member]) {
        self.members = members
    }

    package init(_ members: KeyValuePairs<String, JSON>) {
        self.members = members.map { JSONObject.Member(name: $0.key, value: $0.value) }
    }

    /// Returns the schema with more members.
    package func adding(_ more: KeyValuePairs<String, JSON>) -> Schema {
        Schema(members: members + more.map { JSONObject.Member(name: $0.key, value: $0.value) })
    }

    /// Returns the schema of an object's member.
    package func property(_ name: String) -> JSON? {
        guard case .object(let properties)? = JSONObject(members)["properties"] else { return nil }
        return properties[name]
    }

    package func described(_ description: String) -> Schema { adding(["description": .string(description)]) }

    /// The nullable schema. It must have a type: OpenAPI 3.0 defines `nullable` only with one.
    package var nullable: Schema {
        let members = members.map { member in
            guard member.name == "enum", case .array(let choices) = member.value else { return member }
            return JSONObject.Member(name: "enum", value: .array(choices + [.null]))
        }
        return Schema(members: members + [.init(name: "nullable", value: .bool(true))])
    }
}

extension Schema {
    package static let string = Schema(["type": .string("string")])
    package static let bool = Schema(["type": .string("boolean")])
    package static let number = Schema(["type": .string("number")])

    /// A count, a sequence number or a version.
    package static let integer: Schema = integer(in: 0 ... .max)

    /// The keyword for the pattern of a string with a format.
    ///
    /// Not `pattern`: aiopenapi3 converts such a string by its format and then fails at the pattern.
    package static let exactForm = "x-pattern"

    /// A UUID in lower case, as in results.
    package static let uuid = Schema([
        "type": .string("string"), "format": .string("uuid"),
        exactForm: .string("^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"),
    ])

    /// RFC 3339 in UTC with microseconds.
    package static let timestamp = Schema([
        "type": .string("string"), "format": .string("date-time"),
        exactForm: .string(#"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{6}Z$"#),
    ])

    package static let date = Schema([
        "type": .string("string"), "format": .string("date"), exactForm: .string(#"^\d{4}-\d{2}-\d{2}$"#),
    ])

    /// An object with arbitrary members.
    package static let anyObject = Schema(["type": .string("object")])

    package static func integer(in limits: ClosedRange<Int64>) -> Schema {
        let least = Schema([
            "type": .string("integer"), "format": .string("int64"), "minimum": .integer(limits.lowerBound),
        ])
        return limits.upperBound == .max ? least : least.adding(["maximum": .integer(limits.upperBound)])
    }

    package static func choice(_ choices: [String]) -> Schema {
        Schema(["type": .string("string"), "enum": .array(choices.map { .string($0) })])
    }

    package static func array(of element: Schema) -> Schema {
        Schema(["type": .string("array"), "items": element.json])
    }

    /// Returns an object schema with required and optional members.
    ///
    /// It is open: later versions may add members, which clients ignore.
    package static func object(_ properties: [(String, Schema)], optional: [(String, Schema)] = []) -> Schema {
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
    package static let profile = reference("Profile")
    package static let profileList = reference("ProfileList")
    package static let profileOrList = reference("ProfileOrList")
    package static let presence = reference("Presence")
    package static let me = reference("Me")
    package static let conversation = reference("Conversation")
    package static let conversationOrLeft = reference("ConversationOrLeft")
    package static let message = reference("Message")
    package static let reactions = reference("Reactions")
    package static let piece = reference("Piece")
    package static let scheduledMessage = reference("ScheduledMessage")
    package static let report = reference("Report")
    package static let heldMessage = reference("HeldMessage")
    package static let changes = reference("Changes")
    package static let tokens = reference("Tokens")
    package static let error = reference("Error")

    /// A conversation, with its members' profiles if requested.
    package static let conversationWithProfiles = reference("ConversationWithProfiles")

    /// Tokens, with the merge result if a guest was merged.
    package static let tokensAndMerged = reference("TokensAndMerged")

    /// The numbers of merged objects.
    package static let merged = object([("conversations", .integer), ("messages", .integer)])
}
