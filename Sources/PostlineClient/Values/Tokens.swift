import Foundation

/// What proves a session to the server (`docs/protocol.md`, section 5, Tokens).
struct Tokens: Sendable, Hashable, Codable {
    var accessToken: String
    /// Nil where somebody signed in with an access token alone.
    var refreshToken: String?
    var userID: String
    var isGuest: Bool

    /// Whether the id may name files of this device.
    var isUsable: Bool { UUID(uuidString: userID) != nil }

    enum CodingKeys: String, CodingKey {
        case accessToken = "access_token"
        case refreshToken = "refresh_token"
        case userID = "user_id"
        case isGuest = "is_guest"
    }
}
