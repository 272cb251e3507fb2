public import Foundation

/// An access token for an app's own HTTP requests as the user (`Authorization: Bearer VALUE`).
///
/// ``PostlineClient/accessToken()`` returns it. The token grants the user's rights until it expires:
/// keep it out of logs and files.
public struct AccessToken: Sendable, Hashable, CustomStringConvertible {
    /// The token, a JWT.
    public let value: String
    /// The time at which the token expires, by the server's clock.
    public let expiresAt: Date

    /// The time of expiry, without the value, so that logs do not contain it.
    public var description: String { "an access token until \(expiresAt.formatted(.iso8601))" }
}
