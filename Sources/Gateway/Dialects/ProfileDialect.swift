import LineServer
import Messaging
import NIOCore
import NIOHTTP1

/// The profile's document (`/api/v1`): metadata and physical data apart, and tokens that tell nothing of either.
///
/// Its times are whole seconds, as it prints them: the date formatter of its app reads no fractions.
enum ProfileDialect {
    static var paths: JSONObject { DialectEndpoint.paths(of: endpoints) }

    static let endpoints = [
        DialectEndpoint(.GET, "/api/v1/users/me", "The user's profile.", answer: .schema("DialectProfile")) {
            exchange, _ throws(ProtocolError) in
            metadata.answer(try await exchange.compatible.object("me.get")).buffer
        },
        replace,
        DialectEndpoint(
            .GET, "/api/v1/users/me/physical", "The user's physical data.", answer: .schema("DialectPhysical")
        ) {
            exchange, _ throws(ProtocolError) in
            physical(of: try await exchange.object("me.get"))
        },
        DialectEndpoint(
            .PATCH, "/api/v1/users/me/physical", "Changes some of the user's physical data.",
            sets: "me.update_physical", takes: physical.fields, answer: .schema("DialectPhysical")
        ) { exchange, request throws(ProtocolError) in
            physical(of: try await exchange.object("me.update_physical", JSONObject(request.params)))
        },
        signIn(
            "register", "Makes an account, and signs in to it.", required: ["email", "password", "name"],
            statuses: [403, 409]),
        signIn("login", "Signs in.", required: ["email", "password"], statuses: [403]),
        signIn("guest", "Makes a guest, and signs in as it.", statuses: [403]),
        signIn("refresh", "The next tokens of a session.", required: ["refresh_token"], statuses: [403]),
        DialectEndpoint(
            .POST, "/api/v1/auth/logout", "Ends the session, or all of the user's.", sets: "auth.logout",
            takes: [DialectField("all", .request)], statuses: [403], answer: .result(of: "auth.logout")
        ) { exchange, request throws(ProtocolError) in
            try await exchange.call("auth.logout", JSONObject(request.params))
        },
    ]
}

/// The names.
extension ProfileDialect {
    /// Of `UserProfileMetadata`. There is no profile apart from its user: both ids are one.
    private static let metadata = DialectTable(fields: [
        DialectField("id", .answer),
        DialectField("user_id", "id", .answer),
        DialectField("name", "full_name"),
        DialectField("bio"),
        DialectField("preferred_unit_system"),
        DialectField("language_code"),
        // Set by the physical profile.
        DialectField("date_of_birth", .answer),
        DialectField("created_at", .answer, as: .time(digits: 0)),
        // A second that no other version has, so that it says which version was read.
        DialectField("updated_at", "version_second", .answer, as: .time(digits: 0)),
    ])

    /// Of `PhysicalProfile`.
    private static let physical = DialectTable(fields: [
        // The document's picker has an empty text for "Not Specified", which its app sends.
        DialectField("biological_sex", as: .emptyIsNull),
        DialectField("height_cm"),
        DialectField("date_of_birth"),
    ])

    /// Of `AuthToken`.
    private static let tokens = DialectTable(fields: [
        DialectField("access_token", .answer),
        DialectField("refresh_token", .answer),
        DialectField("expires_in", .answer),
        DialectField("user_id", .answer),
    ])

    /// What signs in, by the endpoint.
    private static let credentials: [String: [DialectField]] = [
        "register": [
            DialectField("email", .request), DialectField("password", .request),
            DialectField("name", "full_name", .request), DialectField("username", .request),
        ],
        "login": [
            DialectField("email", .request), DialectField("password", .request),
            DialectField("guest_refresh_token", .request),
        ],
        "guest": [DialectField("name", "full_name", .request)],
        "refresh": [DialectField("refresh_token", .request)],
    ]

    /// The schemas of the answers, by their names in the OpenAPI document.
    static let schemas: [JSONObject.Member] = [
        .init(name: "DialectProfile", value: metadata.schema(of: "Me")),
        .init(name: "DialectPhysical", value: physical.schema(of: "Me", "physical")),
        .init(name: "DialectTokens", value: tokens.schema(of: "Tokens")),
    ]
}

extension ProfileDialect {
    /// What is not there is cleared, as PUT has it. What the profile shows alone may come back as it was.
    private static let replace = DialectEndpoint(
        .PUT, "/api/v1/users/me", "Replaces the user's profile: bio and language_code are cleared where absent.",
        sets: "me.update", takes: metadata.fields, required: ["name", "preferred_unit_system"], takesWhole: true,
        statuses: [409], answer: .schema("DialectProfile")
    ) { exchange, request throws(ProtocolError) in
        var params = request.params
        for name in ["bio", "language_code"] where request[name] == nil {
            params.append(.init(name: name, value: .null))
        }
        // Nothing is asked for what is not held against anything.
        if !request.echoed.isEmpty || !request.unknown.isEmpty {
            let me = try await exchange.compatible.object("me.get")
            try request.requireEchoes(of: metadata.answer(me), updated: "updated_at", at: "PUT /api/v1/users/me")
            if request.echoed.contains(where: { $0.field.name == "updated_at" }), let version = me["version"] {
                params.append(.init(name: "if_version", value: version))
            }
        }
        return metadata.answer(try await exchange.compatible.object("me.save", JSONObject(params))).buffer
    }

    private static func physical(of me: JSONObject) -> ByteBuffer {
        guard case .object(let object)? = me["physical"] else { return physical.answer([:]).buffer }
        return physical.answer(object).buffer
    }

    private static func signIn(
        _ name: String, _ summary: String, required: [String] = [], statuses: [Int]
    ) -> DialectEndpoint {
        DialectEndpoint(
            .POST, "/api/v1/auth/\(name)", summary, sets: "auth.\(name)", takes: credentials[name] ?? [],
            required: required, needsToken: false, statuses: statuses, answer: .schema("DialectTokens")
        ) { exchange, request throws(ProtocolError) in
            tokens.answer(try await exchange.object("auth.\(name)", JSONObject(request.params))).buffer
        }
    }
}
