extension Operation {
    /// `session.*`: the connection's user.
    static let session = [
        Operation("session.authenticate", .anyone, ["access_token"]) { session, params throws(ProtocolError) in
            let text = try params.requiredString("access_token")
            let token = try await session.service.accounts.verify(accessToken: text)
            try await session.become(token)
            return Answer(
                .object(
                    [
                        "user_id": .string(token.user.description),
                        "session_id": token.session.map { .string($0.description) } ?? .null,
                        "is_guest": .bool(token.isGuest),
                        "expires_at": .string(token.expiresAt),
                    ]))
        }
    ]
}
