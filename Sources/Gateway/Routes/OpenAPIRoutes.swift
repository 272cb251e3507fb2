import Messaging
import NIOCore
import NIOHTTP1

/// The description of all that is served here, made once.
enum OpenAPIRoutes {
    /// - Parameter version: the server's.
    static func all(version: String) -> [Route] {
        let document = OpenAPIDocument.text(
            version: version, adding: JSONObject(paths.members + Dialects.paths.members), schemas: Dialects.schemas)
        return [Route(.GET, "/v1/openapi.json") { _ throws(ProtocolError) in .json(document) }]
    }

    /// The paths that are no methods.
    private static let paths: JSONObject = [
        "/v1/rpc": .object([
            "post": operation(
                "rpc", "JSON-RPC 2.0: a request, or a batch of up to 50, answered as on a line.",
                [
                    "requestBody": .object([
                        "required": .bool(true),
                        "content": json(.object(["type": .array([.string("object"), .string("array")])])),
                    ]),
                    "responses": .object([
                        "200": response(
                            "The answer, which may be an error, or the array of a batch's.",
                            json(.object(["type": .array([.string("object"), .string("array")])]))),
                        "204": response("There were notifications only."), "400": error(400), "401": error(401),
                        "413": error(413), "500": error(500), "503": error(503), "504": error(504),
                    ]),
                ])
        ]),
        "/v1/line": .object([
            "get": operation(
                "line", "The line protocol over WebSocket, each text message a line. The subprotocol is postline.v1.",
                [
                    "responses": .object([
                        "101": response("What follows is WebSocket."),
                        "400": error(400), "403": error(403), "503": error(503),
                        "426": response("This is no upgrade to WebSocket.", json(reference("schemas/Error"))),
                    ])
                ])
        ]),
        "/v1/changes": .object([
            "get": operation(
                "changes",
                "Live sync as server-sent events: a Changes each, its id the cursor, and `goodbye` before the end.",
                [
                    "security": .array([.object(["bearer": .array([])]), .object([:])]),
                    "parameters": .array([
                        parameter(
                            "cursor", in: "query", "How far the client is.", .object(["type": .string("string")])),
                        parameter(
                            "Last-Event-ID", in: "header", "The same, as browsers send it; it goes before the query's.",
                            .object(["type": .string("string")])),
                        parameter(
                            "messages_per_conversation", in: "query", "As in sync.open.",
                            .object([
                                "type": .string("integer"), "minimum": .integer(0), "maximum": .integer(100),
                            ])),
                        parameter(
                            "ticket", in: "query", "In place of the token.", .object(["type": .string("string")])),
                    ]),
                    "responses": .object([
                        "200": response(
                            "The stream.",
                            .object(["text/event-stream": .object(["schema": .object(["type": .string("string")])])])),
                        "400": error(400), "401": error(401), "500": error(500), "503": error(503), "504": error(504),
                    ]),
                ])
        ]),
        "/v1/changes/ticket": .object([
            "post": operation(
                "ticket", "A ticket for /v1/changes, which is good once and for 30 seconds.",
                [
                    "security": .array([.object(["bearer": .array([])])]),
                    "responses": .object([
                        "200": response(
                            "The ticket.",
                            json(
                                .object([
                                    "type": .string("object"), "additionalProperties": .bool(false),
                                    "required": .array([.string("ticket"), .string("expires_in")]),
                                    "properties": .object([
                                        "ticket": .object(["type": .string("string")]),
                                        "expires_in": .object(["type": .string("integer")]),
                                    ]),
                                ]))),
                        "401": error(401), "500": error(500), "503": error(503), "504": error(504),
                    ]),
                ])
        ]),
        "/v1/openapi.json": .object([
            "get": operation(
                "openapi", "This document.",
                ["responses": .object(["200": response("OpenAPI 3.1.", json(.object(["type": .string("object")])))])])
        ]),
    ]

    private static func operation(_ id: String, _ summary: String, _ members: JSONObject) -> JSON {
        let head: JSONObject = [
            "operationId": .string(id), "tags": .array([.string("http")]), "summary": .string(summary),
        ]
        return .object(JSONObject(head.members + members.members))
    }

    private static func parameter(_ name: String, in place: String, _ text: String, _ schema: JSON) -> JSON {
        .object([
            "name": .string(name), "in": .string(place), "description": .string(text), "required": .bool(false),
            "schema": schema,
        ])
    }

    private static func response(_ text: String, _ content: JSON? = nil) -> JSON {
        var members: [JSONObject.Member] = [.init(name: "description", value: .string(text))]
        if let content { members.append(.init(name: "content", value: content)) }
        return .object(JSONObject(members))
    }

    private static func error(_ status: Int) -> JSON { reference("responses/Error\(status)") }

    private static func reference(_ place: String) -> JSON {
        .object(["$ref": .string("#/components/\(place)")])
    }

    private static func json(_ schema: JSON) -> JSON {
        .object(["application/json": .object(["schema": schema])])
    }
}
