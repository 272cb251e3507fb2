import WireProtocol

/// The claims of a token whose signature was verified. Times are in seconds since 1970.
struct TokenClaims {
    /// The registered claims (RFC 7519, section 4.1).
    let issuer: String
    let subject: String
    let expiry: Double
    let issuedAt: Double?
    let notBefore: Double?

    /// The names of `aud`, which is one name or a list of them.
    let audiences: [String]

    private let all: JSONObject

    /// The allowed clock skew of the issuer, in seconds.
    static let skew: Double = 30

    /// The year 10,000, which the protocol's timestamps cannot express.
    private static let endOfTime: Double = 253_402_300_800

    /// - Throws: `InvalidClaim` if a registered claim is missing or has another type, or if `exp` is in the year 10,000
    ///   or later.
    init(_ claims: JSONObject) throws(InvalidClaim) {
        all = claims
        guard case .string(let issuer)? = claims["iss"], case .string(let subject)? = claims["sub"],
            let expiry = try claims.time("exp"), expiry < Self.endOfTime
        else { throw InvalidClaim() }
        self.issuer = issuer
        self.subject = subject
        self.expiry = expiry
        issuedAt = try claims.time("iat")
        notBefore = try claims.time("nbf")
        switch claims["aud"] {
        case .string(let name)?: audiences = [name]
        case .array(let elements)?:
            audiences = elements.compactMap { if case .string(let name) = $0 { name } else { nil } }
            guard audiences.count == elements.count else { throw InvalidClaim() }
        case nil, .null?, .bool?, .number?, .object?: throw InvalidClaim()
        }
    }

    /// Returns true if the token is issued and valid at that time, allowing for skew. It may have expired.
    func hasBegun(at time: Double) -> Bool {
        (issuedAt ?? 0) <= time + Self.skew && (notBefore ?? 0) <= time + Self.skew
    }

    /// Returns true if the token has expired at that time, allowing for skew.
    func hasExpired(at time: Double) -> Bool { time >= expiry + Self.skew }

    /// Returns the text of another claim, or nil if it is missing or null.
    ///
    /// - Throws: `InvalidClaim` if it is not a string.
    func string(_ name: String) throws(InvalidClaim) -> String? {
        switch all[name] {
        case nil, .null?: nil
        case .string(let text)?: text
        case .bool?, .number?, .array?, .object?: throw InvalidClaim()
        }
    }

    /// Returns the value of another claim, or nil if it is missing or null.
    ///
    /// - Throws: `InvalidClaim` if it is not a boolean.
    func bool(_ name: String) throws(InvalidClaim) -> Bool? {
        switch all[name] {
        case nil, .null?: nil
        case .bool(let value)?: value
        case .string?, .number?, .array?, .object?: throw InvalidClaim()
        }
    }
}

/// A claim is missing or has another type than it must have.
struct InvalidClaim: Error {}

extension JSONObject {
    /// Returns the seconds of a claim, or nil if it is missing or null.
    fileprivate func time(_ name: String) throws(InvalidClaim) -> Double? {
        switch self[name] {
        case nil, .null?: return nil
        case .number(let number)?:
            guard let time = number.double else { throw InvalidClaim() }
            return time
        case .bool?, .string?, .array?, .object?: throw InvalidClaim()
        }
    }
}
