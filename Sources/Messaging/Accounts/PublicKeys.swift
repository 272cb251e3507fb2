internal import FoundationEssentials
internal import JWTKit

/// The usable keys of a JWK set (RFC 7517), each by its `kid` and for one algorithm: that of its `alg`, or, without one
/// (section 4.4), RS256 for a key of RSA and ES256 for one of P-256.
///
/// A key that this server does not understand is ignored, as section 5 of the RFC requires: another type, curve or
/// algorithm, a key for encryption, a key without a `kid`, a key whose numbers make no key. Of two usable keys with one
/// `kid` the first counts.
struct PublicKeys: Sendable {
    let keys: JWTKeyCollection

    /// The algorithm of each usable key, by its `kid`.
    let algorithms: [String: String]

    /// The `kid` of each usable key.
    var names: some Collection<String> { algorithms.keys }

    /// Bounds the memory that another server's set can take.
    private static let maxCount = 64

    /// - Parameters:
    ///   - text: the set as JSON text.
    ///   - accepted: the algorithms that tokens may be signed by: `RS256`, `ES256`.
    /// - Throws: `TokenKeysError` if the text is no set, or no key of the set is usable.
    init(_ text: String, for accepted: Set<String>) async throws {
        guard let set = try? JSONDecoder().decode(EntrySet.self, from: Data(text.utf8)) else {
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

/// A JWK set whose members may be anything.
private struct EntrySet: Decodable {
    let keys: [Lenient]

    /// A member of the set, or nil if it is no key that JWTKit can read.
    struct Lenient: Decodable {
        let value: Entry?

        init(from decoder: any Decoder) throws { value = try? Entry(from: decoder) }
    }
}

/// A key with the members that say what it is for.
private struct Entry: Decodable {
    let key: JWK

    /// The key's algorithm if the key's type and curve are those of the algorithm (RFC 7518, section 3.1), else nil.
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

    /// False if the key is for encryption, or for signing alone.
    var verifiesSignatures: Bool {
        (use ?? "sig") == "sig" && (operations ?? ["verify"]).contains("verify")
    }
}
