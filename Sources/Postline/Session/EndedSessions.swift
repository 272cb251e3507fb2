import Foundation

/// The sessions that the user has signed out of without a connection. Their tokens are kept until the server has ended
/// them. The folder's lock must be held during a change.
struct EndedSessions: Sendable {
    let secrets: any SecretStore
    private static let name = "ended-sessions"
    /// The oldest sessions beyond this number are dropped.
    private static let limit = 10

    /// Keeps the tokens of a session.
    ///
    /// - Throws: The errors of the secret store.
    func add(_ tokens: Tokens) throws {
        // Without a refresh token another server may keep the accounts, and ends their sessions.
        guard tokens.refreshToken != nil else { return }
        try update { $0 = ($0 + [tokens]).suffix(Self.limit) }
    }

    /// Returns the tokens of the oldest session, or nil if there is none.
    func first() -> Tokens? { (try? load())?.first }

    /// Erases the tokens of a session.
    ///
    /// - Throws: The errors of the secret store.
    func remove(_ tokens: Tokens) throws { try update { $0.removeAll { $0 == tokens } } }

    /// Ends a session at the server.
    ///
    /// - Throws: ``PostlineError``: `invalid_token` if the server knows no such session, and those of a connection.
    static func end(_ tokens: Tokens, on connection: LineConnection) async throws(PostlineError) {
        do {
            try await authenticate(connection, tokens.accessToken)
        } catch  where [.tokenExpired, .invalidToken].contains(error.code) {
            let renewed: Tokens = try await connection.call("auth.refresh", ["refresh_token": tokens.refreshToken])
            try await authenticate(connection, renewed.accessToken)
        }
        _ = try await connection.call("auth.logout", [String: String](), as: PostlineClient.EmptyResult.self)
    }

    private static func authenticate(_ connection: LineConnection, _ accessToken: String) async throws(PostlineError) {
        _ = try await connection.call(
            "session.authenticate", ["access_token": accessToken], as: PostlineClient.EmptyResult.self)
    }

    private func load() throws -> [Tokens] {
        guard let secret = try secrets.read(named: Self.name) else { return [] }
        return (try? JSONDecoder().decode([Tokens].self, from: secret)) ?? []
    }

    private func update(_ change: (inout [Tokens]) -> Void) throws {
        var sessions = try load()
        change(&sessions)
        if sessions.isEmpty {
            try secrets.erase(named: Self.name)
        } else {
            try secrets.write(try JSONEncoder().encode(sessions), named: Self.name)
        }
    }
}
