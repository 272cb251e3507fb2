import Foundation
import Threads

/// Holds the tokens of one user, and renews them: one renewal at a time.
actor TokenKeeper {
    private(set) var tokens: Tokens
    private let secrets: any SecretStore
    /// Whether what is held is what is kept.
    private var isStored = true
    private var isRetired = false
    private var isRenewing = false
    private var renewalWaiters: [CheckedContinuation<Bool, Never>] = []
    private var validity: Validity?

    /// How long an access token is good for, as the server has said.
    private struct Validity {
        var accessToken: String
        /// By the server's clock.
        var expiresAt: Date
        /// The same by a clock that nobody can set wrong, and before it the time to renew.
        var end, renewal: ContinuousClock.Instant
    }

    init(tokens: Tokens, secrets: any SecretStore) {
        self.tokens = tokens
        self.secrets = secrets
    }

    /// What is kept of a user; nil where there is nothing.
    static func load(_ userID: String, from secrets: any SecretStore) throws -> Tokens? {
        try secrets.read(named: userID).map { try JSONDecoder().decode(Tokens.self, from: $0) }
    }

    /// - Throws: ``PostlineError``, `store_unusable`.
    static func store(_ tokens: Tokens, in secrets: any SecretStore) throws {
        guard tokens.isUsable else {
            throw PostlineError(.malformedAnswer, "The server gave a user id that is none: \(tokens.userID)")
        }
        do {
            try secrets.write(try JSONEncoder().encode(tokens), named: tokens.userID)
        } catch {
            throw PostlineError(.storeUnusable, "The tokens cannot be kept: \(error)")
        }
    }

    /// Takes new tokens of the same user.
    func update(_ tokens: Tokens) throws {
        guard tokens.userID == self.tokens.userID else {
            throw PostlineError(.malformedAnswer, "The server gave another user's tokens.")
        }
        // What was renewed is used, also where it cannot be kept: the old ones are over.
        self.tokens = tokens
        guard !isRetired else { return }
        isStored = false
        try Self.store(tokens, in: secrets)
        isStored = true
    }

    /// The user has signed out: nothing is kept any more.
    func retire() { isRetired = true }

    /// Signs a connection in, with new tokens where the old ones are over. Returns how long it is for.
    ///
    /// The server says what is over, not this device's clock, which may be wrong by years.
    /// - Throws: ``PostlineError``: `session_revoked` or `invalid_token` where the session is over for good.
    func authenticate(_ connection: LineConnection) async throws -> Duration {
        do {
            return try await authenticateOnce(connection)
        } catch let error as PostlineError
            where [.tokenExpired, .invalidToken, .sessionRevoked].contains(error.code)
        {
            return try await renew(connection)
        }
    }

    /// Returns the access token if it is good for a while, as far as is known without asking the server.
    func validAccessToken() -> AccessToken? {
        guard let validity, validity.accessToken == tokens.accessToken else { return nil }
        // One that cannot be renewed is used to its end.
        guard .now < (tokens.refreshToken == nil ? validity.end : validity.renewal) else { return nil }
        return AccessToken(value: validity.accessToken, expiresAt: validity.expiresAt)
    }

    /// Returns an access token that is good for a while, and renews it if it is not.
    ///
    /// - Throws: ``PostlineError``, as ``authenticate(_:)`` does.
    func accessToken(_ connection: LineConnection) async throws -> AccessToken {
        if let token = validAccessToken() { return token }
        if validity?.accessToken != tokens.accessToken {
            _ = try await authenticate(connection)
            if let token = validAccessToken() { return token }
        }
        _ = try await renew(connection)
        guard let validity else { throw PostlineError(.invalidToken, "The server gave no token.") }
        return AccessToken(value: validity.accessToken, expiresAt: validity.expiresAt)
    }

    /// Renews the tokens, and the connection's session with them. Returns how long it is for.
    ///
    /// Callers take turns, because a refresh token is good once. A caller that has waited for another's renewal uses the
    /// tokens of that.
    func renew(_ connection: LineConnection) async throws -> Duration {
        let former = tokens
        while await withSuspension({ waiter -> Suspension<Bool> in
            guard isRenewing else {
                isRenewing = true
                return .resume(false)
            }
            renewalWaiters.append(waiter)
            return .suspend
        }) {}
        defer {
            isRenewing = false
            for waiter in renewalWaiters { waiter.resume(returning: true) }
            renewalWaiters = []
        }
        if tokens != former, let lifetime = try? await authenticateOnce(connection) { return lifetime }
        // Another process of the same app may have renewed them: the old ones are over then.
        if isStored, let kept = try Self.load(tokens.userID, from: secrets), kept != tokens {
            tokens = kept
            if let lifetime = try? await authenticateOnce(connection) { return lifetime }
        }
        guard let refreshToken = tokens.refreshToken else {
            throw PostlineError(.invalidToken, "The token is no longer valid. Sign in with a fresh one.")
        }
        try update(try await connection.call("auth.refresh", ["refresh_token": refreshToken]))
        return try await authenticateOnce(connection)
    }

    private struct Session: Decodable, Sendable {
        var expires_at: Date
    }

    private struct ServerInfo: Decodable, Sendable {
        var time: Date
    }

    private func authenticateOnce(_ connection: LineConnection) async throws -> Duration {
        let accessToken = tokens.accessToken
        let session: Session = try await connection.call("session.authenticate", ["access_token": accessToken])
        let server: ServerInfo = try await connection.call("server.info", [String: String]())
        let seconds = max(1, session.expires_at.timeIntervalSince(server.time))
        let now = ContinuousClock.now
        validity = Validity(
            accessToken: accessToken, expiresAt: session.expires_at, end: now + .seconds(seconds),
            renewal: now + .seconds(seconds - min(60, seconds / 5)))
        return .seconds(seconds)
    }
}
