public import Foundation

/// The presence of a user, as far as this user may see it.
public struct Presence: Sendable, Hashable {
    /// True if the user has an app open. Always false while this device is not live.
    public var isOnline: Bool
    /// The time at which the user was last online, or nil if it is unknown or hidden.
    public var lastSeenAt: Date?
}
