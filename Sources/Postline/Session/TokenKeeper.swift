import Foundation
import Concurrency

/// The tokens of one user. It renews them, one renewal at a time.
actor TokenKeeper {
    private(set) var tokens: Tokens
    private let secrets: any SecretStore
    nonisolated let locks: FolderLocks
    /// True if the secret store has the current tokens.
    private var isStored = true
    private var isRetired = false
    private var isRenewing = false
    private var renewalWaiters: [CheckedContinuation<Bool, Never>] = []
    private var validity: Validity?

    /// The validity of an access token, as the server reported it.
    private struct Validity {
        var accessToken: String
        /// The expiry by the server's clock.
        var expiresAt: Date
        /// The expiry by the device's continuous clock, which no setting changes, and the time to renew before it.
        var end, renewal: ContinuousClock.Instant
    }

    init(tokens: Tokens, secrets: any SecretStore, locks: FolderLocks = FolderLocks()) {
        self.tokens = tokens
        self.secrets = secrets
        self.locks = locks
    }

    /// Returns a user's stored tokens, or nil if there are none.
    static func load(_ userID: User.ID, from secrets: any SecretStore) throws -> Tokens? {
        try secrets.read(named: userID.rawValue).map { try JSONDecoder().decode(Tokens.self, from: $0) }
    }

    /// Stores tokens.
    ///
    /// - Throws: ``PostlineError``, `store_unusable`.
    static func store(_ tokens: Tokens, in secrets: any SecretStore) throws {
        guard tokens.isUsable else {
            throw PostlineError(.malformedAnswer, "The server sent an invalid user id: \(tokens.userID)")
        }
        do {
            try secrets.write(try JSONEncoder().encode(tokens), named: tokens.userID.rawValue)
        } catch {
            throw PostlineError(.storeUnusable, "The tokens cannot be stored: \(error)")
        }
    }

    /// Replaces the tokens by newer ones of the same user.
    func update(_ tokens: Tokens) throws {
        guard tokens.userID == self.tokens.userID else {
            throw PostlineError(.malformedAnswer, "The server sent another user's tokens.")
        }
        // The new tokens are used even if they cannot be stored, because the old ones are no longer valid.
        self.tokens = tokens
        guard !isRetired else { return }
        isStored = false
        try Self.store(tokens, in: secrets)
        isStored = true
    }

    /// Stops storing tokens, because the user has signed out.
    func retire() { isRetired = true }

    /// Authenticates a connection, with renewed tokens if the old ones have expired, and returns the session's
    /// lifetime.
    ///
    /// The server decides if a token has expired, because the device's clock may be wrong by years.
    /// - Throws: ``PostlineError``: `session_revoked` or `invalid_token` if the session has ended.
    func authenticate(_ connection: LineConnection) async throws -> Duration {
        do {
            return try await authenticateOnce(connection)
        } catch let error as PostlineError
            where [.tokenExpired, .invalidToken, .sessionRevoked].contains(error.code)
        {
            return try await renew(connection)
        }
    }

    /// Returns the access token if it is known to be valid for a while, without a request to the server.
    func validAccessToken() -> AccessToken? {
        guard let validity, validity.accessToken == tokens.accessToken else { return nil }
        // A token that cannot be renewed is used until it expires.
        guard .now < (tokens.refreshToken == nil ? validity.end : validity.renewal) else { return nil }
        return AccessToken(value: validity.accessToken, expiresAt: validity.expiresAt)
    }

    /// Returns an access token that is valid for a while, renewed if necessary.
    ///
    /// - Throws: ``PostlineError``: the errors of ``authenticate(_:)``.
    func accessToken(_ connection: LineConnection) async throws -> AccessToken {
        if let token = validAccessToken() { return token }
        if validity?.accessToken != tokens.accessToken {
            _ = try await authenticate(connection)
            if let token = validAccessToken() { return token }
        }
        _ = try await renew(connection)
        guard let validity else { throw PostlineError(.invalidToken, "The server sent no token.") }
        return AccessToken(value: validity.accessToken, expiresAt: validity.expiresAt)
    }

    /// Renews the tokens, authenticates the connection with them, and returns the session's lifetime.
    ///
    /// Callers take turns, because a refresh token is valid once. A caller that has waited for another renewal uses its
    /// tokens.
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
        return try await locks.lockingSession { try await renewOnce(connection) }
    }

    private func renewOnce(_ connection: LineConnection) async throws -> Duration {
        // Another process of the app may have renewed the tokens, which invalidates these.
        let kept = try Self.load(tokens.userID, from: secrets)
        if isStored, let kept, kept != tokens {
            tokens = kept
            if let lifetime = try? await authenticateOnce(connection) { return lifetime }
        }
        if kept == nil, locks.isShared {
            throw PostlineError(.invalidToken, "Another process of the app has signed out.")
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
