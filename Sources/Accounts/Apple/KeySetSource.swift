/// A source of another server's public keys.
package protocol KeySetSource: Sendable {
    /// Fetches the keys, with bounds on time and size.
    ///
    /// - Throws: an error whose description states why the keys cannot be fetched.
    func fetch() async throws -> FetchedKeySet
}

/// A JWK set (RFC 7517) as its server returned it.
package struct FetchedKeySet: Sendable {
    /// The set's text.
    package let text: String

    /// The time for which the set may be used without another fetch; nil is unlimited.
    package let lifetime: Duration?

    package init(text: String, lifetime: Duration?) {
        self.text = text
        self.lifetime = lifetime
    }
}
