import LineServer
import NIOCore
import NIOHTTP1
import WireProtocol

/// The endpoints `/api/v1/users/me` and `/api/v1/auth`: profile metadata, physical data, and tokens without either.
///
/// Times are whole seconds, since the app's date formatter reads no fractions.
enum ProfileCompatibilityEndpoints {
    static var paths: JSONObject { CompatibilityEndpoint.paths(of: all) }

    static let all = [
        CompatibilityEndpoint(
            .GET, "/api/v1/users/me", "The user's profile.", response: .schema("CompatibilityProfile")
        ) {
            context, _ throws(ProtocolError) in
            metadata.encode(try await context.compatible.callForObject("me.get")).buffer
        },
        replace,
        CompatibilityEndpoint(
            .GET, "/api/v1/users/me/physical", "The user's physical data.", response: .schema("CompatibilityPhysical")
        ) {
            context, _ throws(ProtocolError) in
            physical(of: try await context.callForObject("me.get"))
        },
        CompatibilityEndpoint(
            .PATCH, "/api/v1/users/me/physical", "Changes some of the user's physical data.",
            operation: "me.update_physical", fields: physical.fields, response: .schema("CompatibilityPhysical")
        ) { context, request throws(ProtocolError) in
            physical(of: try await context.callForObject("me.update_physical", JSONObject(request.params)))
        },
        signIn(
            "register", "Creates an account and signs in to it.", required: ["email", "password", "name"],
            errorStatuses: [403, 409]),
        signIn("login", "Signs in.", required: ["email", "password"], errorStatuses: [403]),
        signIn("guest", "Creates a guest and signs in as it.", errorStatuses: [403]),
        signIn("refresh", "Renews the tokens of a session.", required: ["refresh_token"], errorStatuses: [403]),
        CompatibilityEndpoint(
            .POST, "/api/v1/auth/logout", "Ends the session, or all sessions of the user.", operation: "auth.logout",
            fields: [FieldMapping("all", .request)], errorStatuses: [403], response: .result(of: "auth.logout")
        ) { context, request throws(ProtocolError) in
            try await context.call("auth.logout", JSONObject(request.params))
        },
    ]
}

/// The field mappings.
extension ProfileCompatibilityEndpoints {
    /// The fields of `UserProfileMetadata`. A profile has its user's id.
    private static let metadata = ObjectMapping(fields: [
        FieldMapping("id", .response),
        FieldMapping("user_id", "id", .response),
        FieldMapping("name", "full_name"),
        FieldMapping("bio"),
        FieldMapping("preferred_unit_system"),
        FieldMapping("language_code"),
        // Set by PATCH /api/v1/users/me/physical.
        FieldMapping("date_of_birth", .response),
        FieldMapping("created_at", .response, as: .time(digits: 0)),
        // A second that is unique to the version, so that it identifies the version that was read.
        FieldMapping("updated_at", "version_second", .response, as: .time(digits: 0)),
    ])

    /// The fields of `PhysicalProfile`.
    private static let physical = ObjectMapping(fields: [
        // The app's picker sends an empty string for "Not Specified".
        FieldMapping("biological_sex", as: .emptyIsNull),
        FieldMapping("height_cm"),
        FieldMapping("date_of_birth"),
    ])

    /// The fields of `AuthToken`.
    private static let tokens = ObjectMapping(fields: [
        FieldMapping("access_token", .response),
        FieldMapping("refresh_token", .response),
        FieldMapping("expires_in", .response),
        FieldMapping("user_id", .response),
    ])

    /// The request fields of the sign-in endpoints, by endpoint.
    private static let credentials: [String: [FieldMapping]] = [
        "register": [
            FieldMapping("email", .request), FieldMapping("password", .request),
            FieldMapping("name", "full_name", .request), FieldMapping("username", .request),
        ],
        "login": [
            FieldMapping("email", .request), FieldMapping("password", .request),
            FieldMapping("guest_refresh_token", .request),
        ],
        "guest": [FieldMapping("name", "full_name", .request)],
        "refresh": [FieldMapping("refresh_token", .request)],
    ]

    /// The schemas of the responses, by their names in the OpenAPI document.
    static let schemas: [JSONObject.Member] = [
        .init(name: "CompatibilityProfile", value: metadata.schema(of: "Me")),
        .init(name: "CompatibilityPhysical", value: physical.schema(of: "Me", "physical")),
        .init(name: "CompatibilityTokens", value: tokens.schema(of: "Tokens")),
    ]
}

extension ProfileCompatibilityEndpoints {
    /// Replaces the profile: absent fields are cleared. The client may send back read-only fields unchanged.
    private static let replace = CompatibilityEndpoint(
        .PUT, "/api/v1/users/me", "Replaces the user's profile. Absent fields (bio, language_code) are cleared.",
        operation: "me.update", fields: metadata.fields, required: ["name", "preferred_unit_system"],
        acceptsWholeObject: true,
        errorStatuses: [409], response: .schema("CompatibilityProfile")
    ) { context, request throws(ProtocolError) in
        var params = request.params
        for name in ["bio", "language_code"] where request[name] == nil {
            params.append(.init(name: name, value: .null))
        }
        // Reads the profile only if there are fields to compare.
        if !request.echoedFields.isEmpty || !request.unknownFields.isEmpty {
            let me = try await context.compatible.callForObject("me.get")
            try request.requireEchoes(of: metadata.encode(me), versionField: "updated_at", at: "PUT /api/v1/users/me")
            if request.echoedFields.contains(where: { $0.mapping.name == "updated_at" }), let version = me["version"] {
                params.append(.init(name: "if_version", value: version))
            }
        }
        return metadata.encode(try await context.compatible.callForObject("me.save", JSONObject(params))).buffer
    }

    private static func physical(of me: JSONObject) -> ByteBuffer {
        guard case .object(let object)? = me["physical"] else { return physical.encode([:]).buffer }
        return physical.encode(object).buffer
    }

    private static func signIn(
        _ name: String, _ summary: String, required: [String] = [], errorStatuses: [Int]
    ) -> CompatibilityEndpoint {
        CompatibilityEndpoint(
            .POST, "/api/v1/auth/\(name)", summary, operation: "auth.\(name)", fields: credentials[name] ?? [],
            required: required, requiresUser: false, errorStatuses: errorStatuses,
            response: .schema("CompatibilityTokens")
        ) { context, request throws(ProtocolError) in
            tokens.encode(try await context.callForObject("auth.\(name)", JSONObject(request.params))).buffer
        }
    }
}
