internal import LineClient
internal import Messaging

/// Who the connection is signed in as, and stays so.
extension ServerLink {
    /// Renews the access token in time, so that the connection is never closed for its age.
    func renew(_ client: LineClient) async throws {
        while true {
            // The tokens may be replaced meanwhile, so that no sleep is long.
            let left = (tokens?.renewal).map { $0 - .now } ?? .seconds(10)
            guard let tokens, let refresh = tokens.refresh, left <= .zero else {
                try await Task.sleep(for: min(max(left, .milliseconds(1)), .seconds(10)))
                continue
            }
            do {
                let fresh = try SessionTokens(
                    try await client.call("auth.refresh", ["refresh_token": .string(refresh)]))
                // An upgrade that was faster has given tokens of another session.
                guard self.tokens == tokens else { continue }
                self.tokens = fresh
                _ = try await client.call("session.authenticate", ["access_token": .string(fresh.access)])
            } catch let error as RemoteError where error.isRetryable {
                try await Task.sleep(for: .seconds(1))
            } catch let error as RemoteError where error.knownCode == .invalidToken {
                // The access token is still good for a while; what comes then, `authenticate` knows.
                if self.tokens == tokens { self.tokens = SessionTokens(access: tokens.access) }
            }
        }
    }

    /// With the session's tokens; the credentials are for the beginning, and a password for when nothing else is left.
    func authenticate(_ client: LineClient) async throws {
        if tokens == nil, case .token(let token) = credentials { tokens = SessionTokens(access: token) }
        if let tokens {
            if try await resume(client, tokens) { return }
        } else if case .guest(let name) = credentials {
            let params = JSONObject(name.map { [.init(name: "full_name", value: .string($0))] } ?? [])
            tokens = try SessionTokens(try await client.call("auth.guest", params))
            return
        }
        switch credentials {
        case .password(let email, let password):
            tokens = try SessionTokens(
                try await client.call("auth.login", ["email": .string(email), "password": .string(password)]))
        case .token: throw ChatEnded(description: "The token is no longer valid. Start again with a fresh one.")
        // Another guest would be somebody else.
        case .guest: throw ChatEnded(description: "This guest's session is over, and with it the way back to it.")
        }
    }

    /// - Returns: false where the tokens are no longer good.
    /// - Throws: `session_revoked`: who was signed out does not come back by itself.
    private func resume(_ client: LineClient, _ tokens: SessionTokens) async throws -> Bool {
        do {
            _ = try await client.call("session.authenticate", ["access_token": .string(tokens.access)])
            return true
        } catch let error as RemoteError where [.tokenExpired, .invalidToken].contains(error.knownCode) {}
        guard let refresh = tokens.refresh else { return false }
        do {
            let fresh = try SessionTokens(try await client.call("auth.refresh", ["refresh_token": .string(refresh)]))
            self.tokens = fresh
            _ = try await client.call("session.authenticate", ["access_token": .string(fresh.access)])
            return true
        } catch let error as RemoteError where [.tokenExpired, .invalidToken].contains(error.knownCode) {
            return false
        }
    }
}
