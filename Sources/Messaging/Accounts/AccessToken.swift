internal import FoundationEssentials
internal import JWTKit

/// The claims of an access token, Supabase's names and shapes.
struct AccessToken: JWTPayload {
    let sub: String
    let aud: Audience
    let role: String
    let iss: String
    let iat: Double?
    let nbf: Double?
    let exp: Double
    let email: String?
    let phone: String?
    let sessionID: String?
    let isAnonymous: Bool?

    /// The authenticator assurance level: `aal1` in a token of ours, for one factor.
    let assuranceLevel: String?
    let appMetadata: JSONClaim?

    /// Empty in a token of ours: a name in it would be as old as the token.
    let userMetadata: JSONClaim?

    enum CodingKeys: String, CodingKey {
        case sub, aud, role, iss, iat, nbf, exp, email, phone
        case sessionID = "session_id"
        case isAnonymous = "is_anonymous"
        case assuranceLevel = "aal"
        case appMetadata = "app_metadata"
        case userMetadata = "user_metadata"
    }

    /// The claims are held against the server's own settings by `TokenKeys`, which knows them.
    func verify(using algorithm: some JWTAlgorithm) async throws {}
}

/// Whom a token is for: one name, or a list of them (RFC 7519, section 4.1.3).
///
/// Not JWTKit's own, which ends the process at an empty list, and that before the signature is looked at.
struct Audience: Codable, Sendable {
    let names: [String]

    init(_ name: String) { names = [name] }

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        names = if let name = try? container.decode(String.self) { [name] } else { try container.decode([String].self) }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        if names.count == 1 { try container.encode(names[0]) } else { try container.encode(names) }
    }
}

/// A claim that is any JSON, passed on as it is.
indirect enum JSONClaim: Codable, Sendable {
    case null
    case bool(Bool)
    case number(Double)
    case string(String)
    case array([JSONClaim])
    case object([String: JSONClaim])

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode([JSONClaim].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: JSONClaim].self))
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .number(let value): try container.encode(value)
        case .string(let value): try container.encode(value)
        case .array(let value): try container.encode(value)
        case .object(let value): try container.encode(value)
        }
    }
}
