internal import Crypto
internal import JWTKit

/// The claims of Apple's identity tokens, as far as they are looked at.
struct AppleIdentityToken: JWTPayload {
    let iss: String
    let sub: String
    let aud: Audience
    let iat: Double
    let exp: Double
    let nbf: Double?
    let nonce: String?
    let email: String?
    let isEmailVerified: Truth?

    enum CodingKeys: String, CodingKey {
        case iss, sub, aud, iat, exp, nbf, nonce, email
        case isEmailVerified = "email_verified"
    }

    /// A boolean, which Apple also writes as a string.
    struct Truth: Codable, Sendable {
        let value: Bool

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            value =
                if let value = try? container.decode(Bool.self) { value } else {
                    try container.decode(String.self) == "true"
                }
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(value)
        }
    }

    /// The claims are held against the settings by `AppleSignIn`, which knows them.
    func verify(using algorithm: some JWTAlgorithm) async throws {}

    /// Whether it was asked for with that nonce: where one side has one, so has the other.
    func isAnswer(to given: String?) -> Bool {
        guard let nonce, let given else { return nonce == nil && given == nil }
        return nonce == given || nonce == SHA256.hash(data: Array(given.utf8)).hexadecimal
    }
}
