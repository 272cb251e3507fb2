import LineServer
import Messaging
import NIOCore
import NIOHTTP1

/// One endpoint of a document: what is served at it, and how OpenAPI describes it.
struct DialectEndpoint: Sendable {
    let method: HTTPMethod

    /// The path as a route's template.
    let path: String
    let summary: String

    /// The method of ours whose params it sets, for their schemas; nil where it sets none.
    let sets: String?

    /// What it takes: in the query of a GET, else in the body.
    let takes: DialectTable

    /// Which of the fields must be there, and not be null.
    let required: [String]

    /// Whether the whole object may be sent back as it was shown; the endpoint holds against it what cannot be changed.
    let takesWhole: Bool

    /// Whether it is for those who are signed in. The others take no notice of a token.
    let needsToken: Bool

    /// True if it takes an `Idempotency-Key`. Elsewhere a key is refused, since it would not prevent a repetition.
    let takesKey: Bool

    /// The statuses of its errors beyond those of every endpoint.
    let statuses: [Int]

    /// The schema of what is answered.
    let answer: JSON

    /// Looks at the request before its body is read.
    let admit: (@Sendable (HTTPRequest) throws(ProtocolError) -> Void)?

    /// Gives the data of the envelope.
    let perform: @Sendable (Exchange, DialectRequest) async throws(ProtocolError) -> ByteBuffer

    init(
        _ method: HTTPMethod, _ path: String, _ summary: String, sets: String? = nil,
        takes: [DialectField] = [], required: [String] = [], takesWhole: Bool = false, needsToken: Bool = true,
        takesKey: Bool = false,
        statuses: [Int] = [], answer: JSON, admit: (@Sendable (HTTPRequest) throws(ProtocolError) -> Void)? = nil,
        perform: @escaping @Sendable (Exchange, DialectRequest) async throws(ProtocolError) -> ByteBuffer
    ) {
        self.method = method
        self.path = path
        self.summary = summary
        self.sets = sets
        self.takes = DialectTable(fields: takes)
        self.required = required
        self.takesWhole = takesWhole
        self.needsToken = needsToken
        self.takesKey = takesKey
        self.statuses = statuses
        self.answer = answer
        self.admit = admit
        self.perform = perform
    }

    /// As errors name it.
    var name: String { "\(method.rawValue) \(path)" }

    var route: Route {
        var route = Route(method, path, query: .any, style: .envelope) { exchange throws(ProtocolError) in
            try admit?(exchange.request)
            let request = try request(of: exchange)
            do throws(ProtocolError) {
                return .enveloped(try await perform(needsToken ? exchange : exchange.anonymous, request))
            } catch {
                throw request.renamed(error)
            }
        }
        route.needsUser = { _ in needsToken }
        route.takesKey = { _ in takesKey }
        // The endpoint's table of names checks the query and the body.
        route.takesBody = true
        return route
    }

    private func request(of exchange: Exchange) throws(ProtocolError) -> DialectRequest {
        let query = exchange.request.target.query.map { JSONObject.Member(name: $0.name, value: .string($0.value)) }
        let body = try exchange.jsonObject().members
        // A GET takes nothing in its body, and the others nothing in their query.
        let stray = try DialectRequest(method == .GET ? body : query, by: DialectTable(fields: []))
        try stray.requireKnown(at: "the \(method == .GET ? "body" : "query") of \(name)")
        let request = try DialectRequest(method == .GET ? query : body, by: takes)
        if !takesWhole { try request.requireKnown(at: name) }
        for field in required where request[field] ?? .null == .null { throw .refused(field, "is missing.") }
        return request
    }
}

/// What OpenAPI says of it.
extension DialectEndpoint {
    /// The path items of a document's endpoints.
    static func paths(of endpoints: [DialectEndpoint]) -> JSONObject {
        var paths: [String] = []
        for endpoint in endpoints where !paths.contains(endpoint.path) { paths.append(endpoint.path) }
        return JSONObject(
            paths.map { path in
                let operations = endpoints.filter { $0.path == path }.map(\.description)
                return .init(name: path, value: .object(JSONObject(operations)))
            })
    }

    /// The envelope of an error.
    static let errorSchema: JSON = .object([
        "type": .string("object"), "required": .array([.string("success"), .string("error")]),
        "properties": .object([
            "success": .object(["type": .string("boolean"), "description": .string("False.")]),
            "error": .object([
                "type": .string("object"), "required": .array([.string("code"), .string("message")]),
                "properties": .object([
                    "code": OpenAPIDocument.member("data.code", of: "Error") ?? .object([:]),
                    "message": .object(["type": .string("string")]), "field": .object(["type": .string("string")]),
                ]),
            ]),
        ]),
    ])

    /// `get_api_v1_users_me`
    private var identifier: String {
        let words = name.lowercased().split { "/{} -".contains($0) }
        return words.joined(separator: "_")
    }

    private var description: JSONObject.Member {
        let captures = path.split(separator: "/").filter { $0.hasPrefix("{") }.map { String($0.dropFirst().dropLast()) }
        let uuid: JSON = .object(["type": .string("string"), "format": .string("uuid")])
        var parameters = captures.map { parameter($0, in: "path", isRequired: true, uuid) }
        if method == .GET {
            parameters += takes.fields.map { field in
                parameter(field.name, in: "query", isRequired: required.contains(field.name), schema(of: field))
            }
        }
        var members: [JSONObject.Member] = [
            .init(name: "operationId", value: .string(identifier)),
            .init(name: "tags", value: .array([.string("dialects")])),
            .init(name: "summary", value: .string(summary)),
            .init(name: "security", value: .array(needsToken ? [.object(["bearer": .array([])])] : [])),
        ]
        if !parameters.isEmpty { members.append(.init(name: "parameters", value: .array(parameters))) }
        if method != .GET, !takes.fields.isEmpty {
            let body: JSON = .object(["required": .bool(!required.isEmpty), "content": .content(bodySchema)])
            members.append(.init(name: "requestBody", value: body))
        }
        members.append(.init(name: "responses", value: responses))
        return .init(name: method.rawValue.lowercased(), value: .object(JSONObject(members)))
    }

    private var responses: JSON {
        let envelope: JSON = .object([
            "type": .string("object"), "required": .array([.string("success"), .string("data")]),
            "properties": .object([
                "success": .object(["type": .string("boolean"), "description": .string("True.")]), "data": answer,
            ]),
        ])
        let done: JSON = .object(["description": .string("Done."), "content": .content(envelope)])
        let errors = Set([400, 401, 429, 500, 503, 504] + statuses).sorted().map { status in
            JSONObject.Member(
                name: "\(status)",
                value: .object([
                    "description": .string("An error."),
                    "content": .content(.schema("DialectError")),
                ]))
        }
        // Refused before anybody has seen which path it is.
        let tooLarge = JSONObject.Member(
            name: "413", value: .object(["$ref": .string("#/components/responses/Error413")]))
        return .object(JSONObject([.init(name: "200", value: done)] + errors + [tooLarge]))
    }

    private func parameter(_ name: String, in place: String, isRequired: Bool, _ schema: JSON) -> JSON {
        .object([
            "name": .string(name), "in": .string(place), "required": .bool(isRequired), "schema": schema,
        ])
    }

    private var bodySchema: JSON {
        let fields = takes.fields.filter { $0.use != .answer }
        let properties = fields.flatMap { field in
            ([field.name] + field.spellings).map { JSONObject.Member(name: $0, value: schema(of: field)) }
        }
        // Which of two spellings is there, a list of what is required cannot say.
        let needed = fields.filter { required.contains($0.name) && $0.spellings.isEmpty }.map { JSON.string($0.name) }
        var members: [JSONObject.Member] = [
            .init(name: "type", value: .string("object")),
            .init(name: "properties", value: .object(JSONObject(properties))),
            .init(name: "additionalProperties", value: .bool(takesWhole)),
        ]
        if !needed.isEmpty { members.append(.init(name: "required", value: .array(needed))) }
        return .object(JSONObject(members))
    }

    /// What a field may be: what our param may.
    private func schema(of field: DialectField) -> JSON {
        let schema = sets.flatMap { OpenAPIDocument.parameter(field.param, of: $0) } ?? .object([:])
        switch field.form {
        case .firstName, .lastName: return .nullableText
        case .emptyIsNull:
            guard case .object(let object) = schema, case .array(let choices)? = object["enum"] else { return schema }
            let others = object.members.filter { $0.name != "enum" }
            return .object(JSONObject(others + [.init(name: "enum", value: .array(choices + [.string("")]))]))
        case .same, .time, .digits: return schema
        }
    }
}

extension DialectTable {
    /// The schema of an answer.
    ///
    /// - Parameters:
    ///   - object: the name of our object, such as `Me`.
    ///   - path: the object's member that is answered; nil for the whole object.
    ///   - isForOthers: whether what is the user's own is null.
    func schema(of object: String, _ path: String? = nil, isForOthers: Bool = false) -> JSON {
        let fields = fields.filter { $0.use != .request }
        let prefix = path.map { "\($0)." } ?? ""
        let properties = fields.map { field in
            let schema = field.schema(prefix, of: object)
            return JSONObject.Member(
                name: field.name, value: isForOthers && field.isPrivate ? schema.alwaysNull : schema)
        }
        return .object([
            "type": .string("object"), "properties": .object(JSONObject(properties)),
            "required": .array(fields.map { .string($0.name) }),
        ])
    }
}

extension DialectField {
    fileprivate func schema(_ prefix: String, of object: String) -> JSON {
        switch form {
        case .time:
            .object(["type": .string("string"), "format": .string("date-time"), "nullable": .bool(true)])
        case .firstName, .lastName: .nullableText
        case .same, .emptyIsNull, .digits: OpenAPIDocument.member(prefix + ours, of: object) ?? .object([:])
        }
    }
}

extension JSON {
    static let nullableText: JSON = .object(["type": .string("string"), "nullable": .bool(true)])

    /// The schema of a member that others are never shown. OpenAPI 3.0 has no type of null alone.
    fileprivate var alwaysNull: JSON {
        guard case .object(let schema) = self else { return self }
        let replaced = ["nullable", "description"]
        return .object(
            JSONObject(
                schema.members.filter { !replaced.contains($0.name) } + [
                    .init(name: "nullable", value: .bool(true)),
                    .init(name: "description", value: .string("Always null: it is the user's own.")),
                ]))
    }

    /// One of the schemas of the document.
    static func schema(_ name: String) -> JSON { .object(["$ref": .string("#/components/schemas/\(name)")]) }

    /// The result of a method.
    static func result(of method: String) -> JSON { OpenAPIDocument.result(of: method) ?? .object([:]) }

    fileprivate static func content(_ schema: JSON) -> JSON {
        .object(["application/json": .object(["schema": schema])])
    }
}
