public import Foundation

/// A token by which an app's own HTTP requests are made as the user (`Authorization: Bearer VALUE`).
///
/// ``PostlineClient/PostlineClient/accessToken()`` returns it. Whoever has it is the user until it expires: keep it out
/// of logs and files.
public struct AccessToken: Sendable, Hashable, CustomStringConvertible {
    /// The token, a JWT.
    public let value: String
    /// The time at which the token expires, by the server's clock.
    public let expiresAt: Date

    /// The time of expiry. The value is left out, so that no log has it.
    public var description: String { "an access token until \(expiresAt.formatted(.iso8601))" }
}
