import Accounts
import Foundations
import WireProtocol

extension Operation {
    /// The methods `session.*` of the connection.
    static let session = [authenticate, setState]

    private static let authenticate = Operation(
        "session.authenticate", .anyone, "Authenticates the connection with an access token.",
        [Parameter("access_token", .string(.any), "A token of this server, or of the server that keeps its accounts.")],
        result: .object([
            ("user_id", .uuid), ("session_id", .uuid.nullable), ("is_guest", .bool), ("expires_at", .timestamp),
        ]),
        errors: [.invalidToken, .tokenExpired, .sessionRevoked]
    ) { session, params throws(ProtocolError) in
        let token = try await session.service.accounts.verify(accessToken: try params.required("access_token"))
        try await session.authenticate(with: token)
        return Answer(
            .object(
                [
                    "user_id": .string(token.user.description),
                    "session_id": token.session.map { .string($0.description) } ?? .null,
                    "is_guest": .bool(token.isGuest),
                    "expires_at": .string(token.expiresAt),
                ]))
    }

    private static let setState = Operation(
        "session.set_state", .user, "Sets whether the app is in the foreground. A session begins active.",
        [
            Parameter(
                "state", .string(.choice(["active", "background"])),
                "The state. A user is online with at least one active session.")
        ],
        result: .object([])
    ) { session, params throws(ProtocolError) in
        await session.setActive(try params.required("state") == "active")
        return Answer(.object(JSONObject([])))
    }
}
