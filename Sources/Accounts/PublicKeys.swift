import FoundationEssentials
import JWTKit

/// The usable keys of a JWK set (RFC 7517) by `kid`. Each has one algorithm: that of its `alg`, or without one
/// (section 4.4) RS256 for an RSA key and ES256 for a P-256 key.
///
/// Keys that this server does not understand are ignored, as section 5 of the RFC requires: another type, curve or
/// algorithm, keys for encryption, keys without a `kid`, and invalid keys. Of two usable keys with one `kid` the first
/// counts.
struct PublicKeys: Sendable {
    let keys: JWTKeyCollection

    /// The algorithm of each usable key, by its `kid`.
    let algorithms: [String: String]

    /// The `kid` of each usable key.
    var names: some Collection<String> { algorithms.keys }

    /// Bounds the memory that another server's key set can use.
    private static let maxCount = 64

    /// - Parameters:
    ///   - text: the set as JSON text.
    ///   - accepted: the accepted signature algorithms: `RS256`, `ES256`.
    /// - Throws: `TokenKeysError` if the text is not a JWK set or has no usable key.
    init(_ text: String, for accepted: Set<String>) async throws {
        guard let set = try? JSONDecoder().decode(KeyEntrySet.self, from: Data(text.utf8)) else {
            throw TokenKeysError.unreadableKeySet
        }
        keys = JWTKeyCollection()
        var algorithms: [String: String] = [:]
        for case let entry? in set.keys.map(\.value) where algorithms.count < Self.maxCount {
            guard let kid = entry.kid, let algorithm = entry.algorithm, accepted.contains(algorithm),
                entry.verifiesSignatures, algorithms[kid] == nil, (try? await keys.add(jwk: entry.key)) != nil
            else { continue }
            algorithms[kid] = algorithm
        }
        guard !algorithms.isEmpty else { throw TokenKeysError.unusableKey }
        self.algorithms = algorithms
    }
}

/// A JWK set that tolerates members of any form.
private struct KeyEntrySet: Decodable {
    let keys: [Lenient]

    /// A member of the set, or nil if JWTKit cannot read it as a key.
    struct Lenient: Decodable {
        let value: KeyEntry?

        init(from decoder: any Decoder) throws { value = try? KeyEntry(from: decoder) }
    }
}

/// A key with the members that state its use.
private struct KeyEntry: Decodable {
    let key: JWK

    /// The key's algorithm, or nil if the type or curve does not match it (RFC 7518, section 3.1).
    let algorithm: String?
    private let type: String
    private let use: String?
    private let operations: [String]?

    private enum CodingKeys: String, CodingKey {
        case type = "kty"
        case use
        case operations = "key_ops"
        case curve = "crv"
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        type = try container.decode(String.self, forKey: .type)
        use = try container.decodeIfPresent(String.self, forKey: .use)
        operations = try container.decodeIfPresent([String].self, forKey: .operations)
        let curve = try container.decodeIfPresent(String.self, forKey: .curve)
        var key = try JWK(from: decoder)
        switch (key.algorithm?.rawValue, type, curve) {
        case ("RS256", "RSA", _), (nil, "RSA", _):
            algorithm = "RS256"
            key.algorithm = .rs256
        case ("ES256", "EC", "P-256"), (nil, "EC", "P-256"):
            algorithm = "ES256"
            key.algorithm = .es256
        default: algorithm = nil
        }
        self.key = key
    }

    var kid: String? { key.keyIdentifier?.string }

    /// False if the key is for encryption or only for signing.
    var verifiesSignatures: Bool {
        (use ?? "sig") == "sig" && (operations ?? ["verify"]).contains("verify")
    }
}
