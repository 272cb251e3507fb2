import Foundation

/// The tokens of a session (`docs/protocol.md`, section 5, Tokens).
struct Tokens: Sendable, Hashable, Codable {
    var accessToken: String
    /// The refresh token, or nil for a sign-in with an access token only.
    var refreshToken: String?
    var userID: User.ID
    var isGuest: Bool

    /// True if the user id is a UUID. It becomes part of file names.
    var isUsable: Bool { UUID(uuidString: userID.rawValue) != nil }

    enum CodingKeys: String, CodingKey {
        case accessToken = "access_token"
        case refreshToken = "refresh_token"
        case userID = "user_id"
        case isGuest = "is_guest"
    }
}
