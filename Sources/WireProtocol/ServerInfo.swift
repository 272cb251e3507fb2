/// The server's description of itself: the params of `server.hello`.
package struct ServerInfo: Sendable {
    package let version: String
    package let maxLineBytes: Int
    package let maxInFlight: Int
    package let pingSeconds: Int

    /// The features beyond the first version 1 of the protocol.
    package let features: [String]

    /// The operator's address for users, an `https:` or `mailto:` URL, or nil.
    package let contact: String?

    /// The features that need no setting.
    package static let features = [
        "presence", "typing", "mute", "replies", "mentions", "pins", "data", "settings", "reactions",
        "delivered", "scheduled", "attachments", "streaming", "blocks", "search", "reports",
        "retention",
    ]

    package init(
        version: String, maxLineBytes: Int, maxInFlight: Int, pingSeconds: Int,
        features: [String] = ServerInfo.features, contact: String? = nil
    ) {
        self.contact = contact
        self.features = features
        self.version = version
        self.maxLineBytes = maxLineBytes
        self.maxInFlight = maxInFlight
        self.pingSeconds = pingSeconds
    }

    package var object: JSONObject {
        [
            "server": .string("postline"),
            "version": .string(version),
            "protocol": .integer(1),
            "max_line_bytes": .integer(maxLineBytes),
            "max_in_flight": .integer(maxInFlight),
            "ping_seconds": .integer(pingSeconds),
            "features": .array(features.map { .string($0) }),
            "contact": contact.map { .string($0) } ?? .null,
        ]
    }
}
