internal import FoundationEssentials
internal import JWTKit

/// The keys of a JWK set that verify RS256, by their `kid`.
struct PublicKeys: Sendable {
    let keys: JWTKeyCollection
    let names: Set<String>

    /// Leaves out what is for another algorithm.
    ///
    /// - Throws: `TokenKeysError` where it is no set, or holds no such key.
    init(_ text: String) async throws {
        guard let set = try? JSONDecoder().decode(JWKS.self, from: Data(text.utf8)) else {
            throw TokenKeysError.unreadableKeySet
        }
        keys = JWTKeyCollection()
        var names: Set<String> = []
        for key in set.keys.prefix(64) {
            guard let kid = key.keyIdentifier?.string, key.algorithm?.rawValue == "RS256",
                (try? await keys.add(jwk: key)) != nil
            else { continue }
            names.insert(kid)
        }
        guard !names.isEmpty else { throw TokenKeysError.unusableKey }
        self.names = names
    }
}
