package import NIOCore
package import WireProtocol

/// The OpenAPI 3.0.3 description of the methods over HTTP, each `POST /v1/{method}`.
///
/// Not 3.1: openapi-generator 7.26 calls its support a beta, fails at type unions and the null type, and writes no
/// Python client. For 3.0 it, openapi-python-client and aiopenapi3 each generate a working client. For the same reason
/// references lead to whole components, every array has `items`, and nullable values use `nullable`.
///
/// It is derived from the table of operations. Other paths are described by the code that serves them, and may refer to
/// `components`: the schemas of the protocol's objects (`Profile`, `Me`, `Conversation`, `Message`, `Changes`,
/// `Tokens`, `Error`), a response per error status (`Error401`), and the security scheme `bearer`.
package enum OpenAPIDocument {
    /// Returns the document as JSON text. It is not cached.
    ///
    /// - Parameters:
    ///   - version: the server's version.
    ///   - paths: additional path items, after those of the methods.
    ///   - schemas: additional schemas, by their names under `components/schemas`.
    package static func text(
        version: String, adding paths: JSONObject = [:], schemas: JSONObject = [:]
    ) -> ByteBuffer {
        let info: JSONObject = [
            "title": .string("Postline"), "version": .string(version), "description": .string(description),
        ]
        let objects = Schema.named.map { JSONObject.Member(name: $0.name, value: $0.schema.json) }
        let components: JSONObject = [
            "schemas": .object(JSONObject(objects + schemas.members)), "responses": .object(JSONObject(errorResponses)),
            "securitySchemes": .object(["bearer": .object(bearer)]),
        ]
        let methods = Operation.all.map(\.path)
        let document: JSONObject = [
            "openapi": .string("3.0.3"), "info": .object(info),
            "servers": .array([.object(["url": .string("/")])]),
            "tags": .array(families.map { .object(["name": .string($0)]) }),
            "paths": .object(JSONObject(methods + paths.members)), "components": .object(components),
        ]
        var buffer = ByteBuffer()
        document.write(to: &buffer)
        return buffer
    }

    /// Returns the schema of a param.
    ///
    /// - Parameters:
    ///   - path: the param's name, with the path of a nested one (`avatar.avatar_url`).
    ///   - method: the method.
    package static func parameter(_ path: String, of method: String) -> JSON? {
        var parameters = (try? Operation.named(method))?.parameters ?? []
        var schema: JSON?
        for name in path.split(separator: ".") {
            guard let index = parameters.index(of: String(name)) else { return nil }
            schema = Schema(of: [parameters[index]]).property(String(name))
            if case .fields(let members) = parameters[index].type { parameters = members }
        }
        return schema
    }

    /// Returns the schema of a member of a protocol object.
    ///
    /// - Parameters:
    ///   - path: the member's name, with the path of a nested one (`members.role`).
    ///   - object: the object's name, such as `Me`.
    package static func member(_ path: String, of object: String) -> JSON? {
        var schema = Schema.named.first { $0.name == object }?.schema.json
        for name in path.split(separator: ".") {
            guard case .object(var members)? = schema else { return nil }
            if case .object(let items)? = members["items"] { members = items }
            guard case .object(let properties)? = members["properties"] else { return nil }
            schema = properties[String(name)]
        }
        return schema
    }

    /// Returns the schema of a method's result.
    package static func result(of method: String) -> JSON? { (try? Operation.named(method))?.result.json }

    private static let description = """
        The methods of Postline's protocol, version 1, over HTTP. A null param is as good as an absent one, unless said \
        otherwise. Answers may have more members in later versions: clients ignore them.
        """

    private static let bearer: JSONObject = [
        "type": .string("http"), "scheme": .string("bearer"), "bearerFormat": .string("JWT"),
    ]

    /// The prefixes of the methods' names, in the order of the table.
    private static var families: [String] {
        Operation.all.map(\.family).reduce(into: []) { families, family in
            if families.last != family { families.append(family) }
        }
    }

    /// A response for each error status.
    private static var errorResponses: [JSONObject.Member] {
        Dictionary(grouping: ErrorCode.allCases, by: \.httpStatus).sorted { $0.key < $1.key }.map { status, codes in
            let names = codes.map { "`\($0.rawValue)`" }.joined(separator: ", ")
            var response: [JSONObject.Member] = [.init(name: "description", value: .string("One of \(names)."))]
            if let headers = Self.headers[status] { response.append(.init(name: "headers", value: .object(headers))) }
            response.append(.init(name: "content", value: content(.error)))
            return JSONObject.Member(name: "Error\(status)", value: .object(JSONObject(response)))
        }
    }

    private static let headers: [Int: JSONObject] = [
        401: [
            "WWW-Authenticate": .object([
                "description": .string("The authentication scheme."), "required": .bool(true),
                "schema": Schema.string.json,
            ])
        ],
        429: [
            "Retry-After": .object([
                "description": .string("The number of seconds after which the request may succeed."),
                "required": .bool(true),
                "schema": Schema.integer.json,
            ])
        ],
    ]

    fileprivate static func content(_ schema: Schema) -> JSON {
        .object(["application/json": .object(["schema": schema.json])])
    }
}

extension Operation {
    /// The prefix of the method's name, such as `messages`.
    fileprivate var family: String { String(method.prefix { $0 != "." }) }

    /// The path item with its operation.
    fileprivate var path: JSONObject.Member {
        let request = Schema(of: parameters, alternatives: alternatives)
        let needsBody = parameters.contains { $0.isRequired } || alternatives?.isRequired == true
        var members: [JSONObject.Member] = [
            .init(name: "operationId", value: .string(method)),
            .init(name: "tags", value: .array([.string(family)])),
            .init(name: "summary", value: .string(summary)),
            .init(name: "description", value: .string(ownErrors)),
            .init(name: "security", value: .array(access == .user ? [.object(["bearer": .array([])])] : [])),
        ]
        if parameters.contains("client_id") {
            members.append(.init(name: "parameters", value: .array([Self.idempotencyKey])))
        }
        members += [
            .init(
                name: "requestBody",
                value: .object(["required": .bool(needsBody), "content": OpenAPIDocument.content(request)])),
            .init(name: "responses", value: .object(JSONObject([success] + failures))),
        ]
        return .init(name: "/v1/\(method)", value: .object(["post": .object(JSONObject(members))]))
    }

    /// A sentence that names the method's own errors.
    private var ownErrors: String {
        guard !errors.isEmpty else { return "Only the errors of every method." }
        return "Errors besides those of every method: \(errors.map { "`\($0.rawValue)`" }.joined(separator: ", "))."
    }

    private var success: JSONObject.Member {
        .init(
            name: "200",
            value: .object(["description": .string("Done."), "content": OpenAPIDocument.content(result)]))
    }

    private var failures: [JSONObject.Member] {
        Set((Self.generalErrors + errors).map(\.httpStatus)).sorted().map { status in
            .init(
                name: "\(status)", value: .object(["$ref": .string("#/components/responses/Error\(status)")]))
        }
    }

    /// The errors that any method can return.
    private static let generalErrors: [ErrorCode] = [
        .parseError, .invalidUTF8, .invalidRequest, .invalidParams, .internalError, .unauthenticated, .invalidToken,
        .tokenExpired, .sessionRevoked, .lineTooLong, .rateLimited, .unavailable, .timeout,
    ]

    private static let idempotencyKey: JSON = .object([
        "name": .string("Idempotency-Key"), "in": .string("header"), "required": .bool(false),
        "description": .string("Equivalent to client_id."), "schema": Schema(of: .uuid).json,
    ])
}
