internal import LineClient
internal import Messaging

/// The tokens of the chat's session.
struct SessionTokens: Sendable, Equatable {
    let access: String
    /// Nil where the chat was started with an access token alone.
    let refresh: String?
    /// When the access token is to be renewed: in the middle of its life.
    let renewal: ContinuousClock.Instant?

    /// An access token that cannot be renewed.
    init(access: String) {
        self.access = access
        refresh = nil
        renewal = nil
    }

    /// Reads Tokens that were answered at `now`.
    /// - Throws: `ConnectionError.malformed`.
    init(_ json: JSON, now: ContinuousClock.Instant = .now) throws {
        guard let access = json["access_token"]?.stringValue, let refresh = json["refresh_token"]?.stringValue else {
            throw ConnectionError.malformed("an answer has no tokens")
        }
        self.access = access
        self.refresh = refresh
        renewal = json["expires_in"]?.doubleValue.map { now + .seconds($0 / 2) }
    }
}
