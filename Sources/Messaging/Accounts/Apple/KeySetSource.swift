/// Where another server's public keys are.
public protocol KeySetSource: Sendable {
    /// Gets them, in a bounded time and size.
    ///
    /// - Throws: why they cannot be had, described in words.
    func fetch() async throws -> FetchedKeySet
}

/// A JWK set (RFC 7517) as its server gave it.
public struct FetchedKeySet: Sendable {
    /// The set's text.
    public let text: String

    /// For how long it may be used without asking again; nil: for good.
    public let lifetime: Duration?

    public init(text: String, lifetime: Duration?) {
        self.text = text
        self.lifetime = lifetime
    }
}
