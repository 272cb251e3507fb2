import HTTPServing
import Messaging
import NIOCore
import NIOHTTP1
import WireProtocol

/// The route of the OpenAPI document, which describes everything the gateway serves.
enum OpenAPIRoutes {
    /// - Parameters:
    ///   - version: the server's version.
    ///   - hasPictures: whether the server itself stores pictures.
    static func all(version: String, hasPictures: Bool) -> [Route] {
        let document = Document(version: version, hasPictures: hasPictures)
        return [
            Route(.GET, "/v1/openapi.json") { context throws(ProtocolError) in
                let coding = ContentCoding(acceptedBy: context.request.headers)
                return await withTaskExecutorPreference(globalConcurrentExecutor) { await document.response(coding) }
            }
        ]
    }

    /// The document. It is composed and compressed on the first request, outside the event loops: most servers never
    /// serve it, and composing takes 0.3 s in a debug build.
    private actor Document {
        private let version: String
        private let hasPictures: Bool

        init(version: String, hasPictures: Bool) {
            self.version = version
            self.hasPictures = hasPictures
        }

        private var responses: [ContentCoding?: HTTPResponse] = [:]

        /// Returns the document, compressed unless the coding is nil.
        func response(_ coding: ContentCoding?) -> HTTPResponse {
            if let response = responses[coding] { return response }
            let response = HTTPResponse.json(text).compressed(by: coding)
            responses[coding] = response
            return response
        }

        private lazy var text = OpenAPIDocument.text(
            version: version,
            adding: JSONObject(
                OpenAPIRoutes.paths.members + (hasPictures ? pictures.members : [])
                    + CompatibilityEndpoints.paths.members),
            schemas: JSONObject(schemas.members + CompatibilityEndpoints.schemas.members))
    }

    /// The paths besides the methods.
    private static let paths: JSONObject = [
        "/v1/rpc": .object([
            "post": operation(
                "rpc", "JSON-RPC 2.0: a request or a batch of up to 50, processed as on the line port.",
                [
                    "requestBody": .object([
                        "required": .bool(true),
                        "content": json(oneOrMany("JSONRPCRequest", rpcRequest)),
                    ]),
                    "responses": responses(
                        [
                            "200": response(
                                "The response, which may be an error, or the array of a batch's responses.",
                                json(oneOrMany("JSONRPCAnswer", rpcAnswer))),
                            "204": response("All requests were notifications."),
                        ], errors: 401, 413, 504),
                ])
        ]),
        "/v1/line": .object([
            "get": operation(
                "line",
                "The line protocol over WebSocket. Each text message is a line. The subprotocol is postline.v1.",
                [
                    "responses": responses(
                        [
                            "101": response("The connection switches to WebSocket."),
                            "426": response(
                                "The request is not a WebSocket upgrade.", json(reference("schemas/Error"))),
                        ], errors: 403)
                ])
        ]),
        "/v1/changes": .object([
            "get": operation(
                "changes",
                "Live sync as server-sent events. Each event is a Changes with the cursor as its id; the last is `goodbye`.",
                [
                    "security": .array([.object(["bearer": .array([])]), .object([:])]),
                    "parameters": .array([
                        parameter(
                            "cursor", in: "query", "The client's cursor.", .object(["type": .string("string")])),
                        parameter(
                            "Last-Event-ID", in: "header",
                            "The cursor as browsers send it, which takes precedence over the query.",
                            .object(["type": .string("string")])),
                        parameter(
                            "messages_per_conversation", in: "query", "As in sync.open.",
                            .object([
                                "type": .string("integer"), "minimum": .integer(0), "maximum": .integer(100),
                            ])),
                        parameter(
                            "ticket", in: "query", "A ticket instead of the access token.",
                            .object(["type": .string("string")])),
                    ]),
                    "responses": responses(
                        [
                            "200": response(
                                "The stream.",
                                .object([
                                    "text/event-stream": .object(["schema": .object(["type": .string("string")])])
                                ]))
                        ], errors: 401, 429, 504),
                ])
        ]),
        "/v1/changes/ticket": .object([
            "post": operation(
                "ticket", "A ticket for /v1/changes. It is valid once and for 30 seconds.",
                [
                    "security": .array([.object(["bearer": .array([])])]),
                    "responses": responses(
                        ["200": response("The ticket.", json(ticket))], errors: 401, 413, 429, 504),
                ])
        ]),
        "/v1/openapi.json": .object([
            "get": operation(
                "openapi", "This document.",
                [
                    "responses": responses([
                        "200": response("OpenAPI 3.0.3.", json(.object(["type": .string("object")])))
                    ])
                ])
        ]),
    ]

    /// The paths of pictures in the server's own folder.
    private static let pictures: JSONObject = [
        "/v1/media/{id}": .object([
            "get": operation(
                "get_media", "A picture, at the URL of an avatar or from media.urls.",
                [
                    "security": .array([]), "parameters": .array([pictureID] + signature),
                    "responses": responses(
                        ["200": response("The picture.", .object(["image/*": .object(["schema": bytes])]))], errors: 404
                    ),
                ]),
            "put": operation(
                "put_media", "Uploads a picture to the URL and with the headers from media.create.",
                [
                    "security": .array([]),
                    "parameters": .array(
                        [pictureID] + signature
                            + ["for", "type", "bytes"].map {
                                parameter(
                                    $0, in: "query", "From the URL of the picture.",
                                    .object(["type": .string("string")]))
                            }),
                    "requestBody": .object([
                        "required": .bool(true),
                        "content": .object(["application/octet-stream": .object(["schema": bytes])]),
                    ]),
                    "responses": responses(
                        [
                            "204": response("The picture is stored."),
                            "411": response("The request has no Content-Length.", json(reference("schemas/Error"))),
                        ], errors: 403, 404, 409, 413),
                ]),
        ])
    ]

    private static let ticket: JSON = .object([
        "type": .string("object"), "additionalProperties": .bool(false),
        "required": .array([.string("ticket"), .string("expires_in")]),
        "properties": .object([
            "ticket": .object(["type": .string("string")]), "expires_in": .object(["type": .string("integer")]),
        ]),
    ])

    private static let bytes: JSON = .object(["type": .string("string"), "format": .string("binary")])

    private static let pictureID: JSON = .object([
        "name": .string("id"), "in": .string("path"), "required": .bool(true),
        "schema": .object(["type": .string("string"), "format": .string("uuid")]),
    ])

    private static let signature = ["expires", "signature"].map {
        parameter($0, in: "query", "From the URL of the picture.", .object(["type": .string("string")]))
    }

    private static let schemas: JSONObject = ["JSONRPCRequest": rpcRequest, "JSONRPCAnswer": rpcAnswer]

    private static let rpcRequest: JSON = .object([
        "type": .string("object"), "description": .string("A JSON-RPC 2.0 request."),
        "required": .array([.string("jsonrpc"), .string("method")]),
        "properties": .object([
            "jsonrpc": .object(["type": .string("string"), "enum": .array([.string("2.0")])]),
            "id": .object([
                "description": .string("A string, an integer or null. Notifications have no id."),
                "nullable": .bool(true),
            ]),
            "method": .object(["type": .string("string")]),
            "params": .object(["type": .string("object")]),
        ]),
    ])

    private static let rpcAnswer: JSON = .object([
        "type": .string("object"), "description": .string("A JSON-RPC 2.0 response: a result or an error."),
        "required": .array([.string("jsonrpc"), .string("id")]),
        "properties": .object([
            "jsonrpc": .object(["type": .string("string"), "enum": .array([.string("2.0")])]),
            "id": .object(["description": .string("The request's id."), "nullable": .bool(true)]),
            "result": .object(["description": .string("The method's result."), "nullable": .bool(true)]),
            "error": reference("schemas/Error"),
        ]),
    ])

    /// Returns a schema for an instance of a named schema or an array of them.
    ///
    /// The array contains the schema itself, not a reference: openapi-generator's TypeScript client imports a name that
    /// appears both alone and in an array twice, and then does not compile.
    private static func oneOrMany(_ name: String, _ schema: JSON) -> JSON {
        let batch: JSON = .object(["type": .string("array"), "items": schema])
        return .object(["oneOf": .array([reference("schemas/\(name)"), batch])])
    }

    private static func operation(_ id: String, _ summary: String, _ members: JSONObject) -> JSON {
        let head: JSONObject = [
            "operationId": .string(id), "tags": .array([.string("http")]), "summary": .string(summary),
        ]
        return .object(JSONObject(head.members + members.members))
    }

    private static func parameter(_ name: String, in location: String, _ text: String, _ schema: JSON) -> JSON {
        .object([
            "name": .string(name), "in": .string(location), "description": .string(text), "required": .bool(false),
            "schema": schema,
        ])
    }

    private static func response(_ text: String, _ content: JSON? = nil) -> JSON {
        var members: [JSONObject.Member] = [.init(name: "description", value: .string(text))]
        if let content { members.append(.init(name: "content", value: content)) }
        return .object(JSONObject(members))
    }

    /// Returns the responses of a path: its own, its errors, and the errors of every path.
    private static func responses(_ own: JSONObject, errors: Int...) -> JSON {
        let refusals = (errors + [400, 500, 503]).sorted().map { status in
            JSONObject.Member(name: "\(status)", value: reference("responses/Error\(status)"))
        }
        return .object(JSONObject(own.members + refusals))
    }

    private static func reference(_ path: String) -> JSON {
        .object(["$ref": .string("#/components/\(path)")])
    }

    private static func json(_ schema: JSON) -> JSON {
        .object(["application/json": .object(["schema": schema])])
    }
}
