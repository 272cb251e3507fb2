public import Foundation

/// Whether somebody is online, as far as this user may know.
public struct Presence: Sendable, Hashable {
    /// Whether the user has an app open. Never while this device is not live: it is not known then.
    public var isOnline: Bool
    /// When it last had one open; nil where that is not known, or not told.
    public var lastSeenAt: Date?
}
