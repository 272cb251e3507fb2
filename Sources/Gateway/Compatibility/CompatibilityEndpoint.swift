import HTTPServing
import LineServer
import Messaging
import NIOCore
import NIOHTTP1
import WireProtocol

/// A compatibility endpoint: its route, and its description for the OpenAPI document.
struct CompatibilityEndpoint: Sendable {
    let method: HTTPMethod

    /// The path as a route's template.
    let path: String
    let summary: String

    /// The method of the protocol whose params have the schemas of the request's fields; nil if the request sets no params.
    let operation: String?

    /// The fields of the query of a GET, or of the body of other methods.
    let mapping: ObjectMapping

    /// The fields that must be present and not null.
    let required: [String]

    /// True if a client may send back the whole object of a response. The endpoint compares the read-only fields.
    let acceptsWholeObject: Bool

    /// True if the endpoint requires an access token. Other endpoints ignore the token.
    let requiresUser: Bool

    /// True if a request may have an `Idempotency-Key`. Other endpoints reject the key, since they would not prevent a
    /// repetition.
    let acceptsKey: Bool

    /// The endpoint's error statuses, besides those of every endpoint.
    let errorStatuses: [Int]

    /// The schema of the response's data.
    let response: JSON

    /// Validates the request before its body is parsed.
    let precheck: (@Sendable (HTTPRequest) throws(ProtocolError) -> Void)?

    /// Handles the request, and returns the data of the response's envelope.
    let perform: @Sendable (RequestContext, CompatibilityRequest) async throws(ProtocolError) -> ByteBuffer

    init(
        _ method: HTTPMethod, _ path: String, _ summary: String, operation: String? = nil,
        fields: [FieldMapping] = [], required: [String] = [], acceptsWholeObject: Bool = false,
        requiresUser: Bool = true, acceptsKey: Bool = false, errorStatuses: [Int] = [], response: JSON,
        precheck: (@Sendable (HTTPRequest) throws(ProtocolError) -> Void)? = nil,
        perform: @escaping @Sendable (RequestContext, CompatibilityRequest) async throws(ProtocolError) -> ByteBuffer
    ) {
        self.method = method
        self.path = path
        self.summary = summary
        self.operation = operation
        mapping = ObjectMapping(fields: fields)
        self.required = required
        self.acceptsWholeObject = acceptsWholeObject
        self.requiresUser = requiresUser
        self.acceptsKey = acceptsKey
        self.errorStatuses = errorStatuses
        self.response = response
        self.precheck = precheck
        self.perform = perform
    }

    /// The method and the path, for error messages.
    var name: String { "\(method.rawValue) \(path)" }

    var route: Route {
        var route = Route(method, path, query: .any, errorFormat: .envelope) { context throws(ProtocolError) in
            try precheck?(context.request)
            let request = try request(of: context)
            do throws(ProtocolError) {
                return .envelope(try await perform(requiresUser ? context : context.anonymous, request))
            } catch {
                throw request.translate(error)
            }
        }
        route.requiresUser = { _ in requiresUser }
        route.acceptsIdempotencyKey = { _ in acceptsKey }
        // The mapping validates the query and the body.
        route.acceptsBody = true
        return route
    }

    private func request(of context: RequestContext) throws(ProtocolError) -> CompatibilityRequest {
        let query = context.request.target.query.map { JSONObject.Member(name: $0.name, value: .string($0.value)) }
        let body = try context.jsonObject().members
        // A GET has no fields in its body, and other methods have none in their query.
        let unused = try CompatibilityRequest(method == .GET ? body : query, mapping: ObjectMapping(fields: []))
        try unused.rejectUnknownFields(at: "the \(method == .GET ? "body" : "query") of \(name)")
        let request = try CompatibilityRequest(method == .GET ? query : body, mapping: mapping)
        if !acceptsWholeObject { try request.rejectUnknownFields(at: name) }
        for field in required where request[field] ?? .null == .null { throw .invalidField(field, "is missing.") }
        return request
    }
}

/// The endpoint's description in the OpenAPI document.
extension CompatibilityEndpoint {
    /// Returns the path items of endpoints.
    static func paths(of endpoints: [CompatibilityEndpoint]) -> JSONObject {
        var paths: [String] = []
        for endpoint in endpoints where !paths.contains(endpoint.path) { paths.append(endpoint.path) }
        return JSONObject(
            paths.map { path in
                let operations = endpoints.filter { $0.path == path }.map(\.description)
                return .init(name: path, value: .object(JSONObject(operations)))
            })
    }

    /// The schema of an error's envelope.
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

    /// The operation id, such as `get_api_v1_users_me`.
    private var identifier: String {
        let words = name.lowercased().split { "/{} -".contains($0) }
        return words.joined(separator: "_")
    }

    private var description: JSONObject.Member {
        let pathParameters = path.split(separator: "/").filter { $0.hasPrefix("{") }.map {
            String($0.dropFirst().dropLast())
        }
        let uuid: JSON = .object(["type": .string("string"), "format": .string("uuid")])
        var parameters = pathParameters.map { parameter($0, in: "path", isRequired: true, uuid) }
        if method == .GET {
            parameters += mapping.fields.map { field in
                parameter(field.name, in: "query", isRequired: required.contains(field.name), schema(of: field))
            }
        }
        var members: [JSONObject.Member] = [
            .init(name: "operationId", value: .string(identifier)),
            .init(name: "tags", value: .array([.string("compatibility")])),
            .init(name: "summary", value: .string(summary)),
            .init(name: "security", value: .array(requiresUser ? [.object(["bearer": .array([])])] : [])),
        ]
        if !parameters.isEmpty { members.append(.init(name: "parameters", value: .array(parameters))) }
        if method != .GET, !mapping.fields.isEmpty {
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
                "success": .object(["type": .string("boolean"), "description": .string("True.")]), "data": response,
            ]),
        ])
        let done: JSON = .object(["description": .string("Done."), "content": .content(envelope)])
        let errors = Set([400, 401, 429, 500, 503, 504] + errorStatuses).sorted().map { status in
            JSONObject.Member(
                name: "\(status)",
                value: .object([
                    "description": .string("An error."),
                    "content": .content(.schema("CompatibilityError")),
                ]))
        }
        // The server rejects a large body before it knows the path, so the error has no envelope.
        let tooLarge = JSONObject.Member(
            name: "413", value: .object(["$ref": .string("#/components/responses/Error413")]))
        return .object(JSONObject([.init(name: "200", value: done)] + errors + [tooLarge]))
    }

    private func parameter(_ name: String, in location: String, isRequired: Bool, _ schema: JSON) -> JSON {
        .object([
            "name": .string(name), "in": .string(location), "required": .bool(isRequired), "schema": schema,
        ])
    }

    private var bodySchema: JSON {
        let fields = mapping.fields.filter { $0.use != .response }
        let properties = fields.flatMap { field in
            ([field.name] + field.aliases).map { JSONObject.Member(name: $0, value: schema(of: field)) }
        }
        // A required field with aliases cannot be listed: the schema cannot express that one of two names must be present.
        let needed = fields.filter { required.contains($0.name) && $0.aliases.isEmpty }.map { JSON.string($0.name) }
        var members: [JSONObject.Member] = [
            .init(name: "type", value: .string("object")),
            .init(name: "properties", value: .object(JSONObject(properties))),
            .init(name: "additionalProperties", value: .bool(acceptsWholeObject)),
        ]
        if !needed.isEmpty { members.append(.init(name: "required", value: .array(needed))) }
        return .object(JSONObject(members))
    }

    /// Returns the schema of a request's field, which is that of its param.
    private func schema(of field: FieldMapping) -> JSON {
        let schema = operation.flatMap { OpenAPIDocument.parameter(field.param, of: $0) } ?? .object([:])
        switch field.format {
        case .firstName, .lastName: return .nullableText
        case .emptyIsNull:
            guard case .object(let object) = schema, case .array(let choices)? = object["enum"] else { return schema }
            let others = object.members.filter { $0.name != "enum" }
            return .object(JSONObject(others + [.init(name: "enum", value: .array(choices + [.string("")]))]))
        case .unchanged, .time, .digits: return schema
        }
    }
}

extension ObjectMapping {
    /// Returns the schema of an object in responses.
    ///
    /// - Parameters:
    ///   - object: the name of the protocol's object, such as `Me`.
    ///   - path: the member of the object that has the fields; nil for the object itself.
    ///   - isForOthers: true if the object is another user's, whose private fields are null.
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

extension FieldMapping {
    fileprivate func schema(_ prefix: String, of object: String) -> JSON {
        switch format {
        case .time:
            .object(["type": .string("string"), "format": .string("date-time"), "nullable": .bool(true)])
        case .firstName, .lastName: .nullableText
        case .unchanged, .emptyIsNull, .digits: OpenAPIDocument.member(prefix + member, of: object) ?? .object([:])
        }
    }
}

extension JSON {
    static let nullableText: JSON = .object(["type": .string("string"), "nullable": .bool(true)])

    /// The schema of a private field in another user's object. OpenAPI 3.0 has no null type.
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

    /// Returns a reference to a schema of the document.
    static func schema(_ name: String) -> JSON { .object(["$ref": .string("#/components/schemas/\(name)")]) }

    /// Returns the schema of a method's result.
    static func result(of method: String) -> JSON { OpenAPIDocument.result(of: method) ?? .object([:]) }

    fileprivate static func content(_ schema: JSON) -> JSON {
        .object(["application/json": .object(["schema": schema])])
    }
}
