import Crypto
import FoundationEssentials
import JWTKit
import WireProtocol

/// A parsed signed token (JWS compact serialization, RFC 7515, section 3.1).
///
/// Anyone can write a token, so only the header is read before the signature is verified, and strictly. `Decodable` is
/// not used: `JSONDecoder` takes time that grows with the square of the depth, and JWTKit traps at a header number that
/// is not an `Int`.
struct SignedToken {
    /// The header's members (RFC 7515, section 4): strings, booleans, null and lists of strings.
    let header: JSONObject

    private let text: String
    private let encodedClaims: Substring.UTF8View
    private let signature: Data

    private static let maxBytes = 16_384

    /// Fails if the text is longer than 16 KiB, is not three Base64url parts, or has an invalid header.
    init?(_ text: String) {
        let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard text.utf8.count <= Self.maxBytes, parts.count == 3,
            let header = Self.object(parts[0], maximumDepth: 2), !header.hasLongCombiningRun,
            let signature = Self.bytes(parts[2])
        else { return nil }
        let isFlat = header.members.allSatisfy { member in
            switch member.value {
            case .null, .bool, .string: true
            case .array(let elements): elements.allSatisfy { if case .string = $0 { true } else { false } }
            case .number, .object: false
            }
        }
        guard isFlat else { return nil }
        self.text = text
        self.header = header
        self.signature = signature
        encodedClaims = parts[1]
    }

    /// The algorithm in the header, or nil if it has none, or has a critical extension (`crit`, RFC 7515, section
    /// 4.1.11).
    var algorithm: String? { header["crit"] == nil ? header["alg"]?.string : nil }

    /// The key id in the header.
    var keyID: String? { header["kid"]?.string }

    /// The signed part of the text.
    var signedBytes: [UInt8] { Array(text.utf8[..<encodedClaims.endIndex]) }

    /// Returns the claims if the signature is the HMAC-SHA256 of the rest, otherwise nil. Compares in constant time.
    func claims(verifiedBy key: SymmetricKey) -> JSONObject? {
        HMAC<SHA256>.isValidAuthenticationCode(signature, authenticating: signedBytes, using: key) ? claims : nil
    }

    /// Returns the claims if the signature was made with the key that the header names, otherwise nil.
    func claims(verifiedBy keys: PublicKeys) async -> JSONObject? {
        guard let keyID, let algorithm, keys.algorithms[keyID] == algorithm,
            (try? await keys.keys.verify(text, as: NoClaims.self)) != nil
        else { return nil }
        return claims
    }

    private var claims: JSONObject? { Self.object(encodedClaims, maximumDepth: 128) }

    /// Returns the text of a token with those claims, signed by HMAC-SHA256.
    static func text(claims: JSONObject, signedBy key: SymmetricKey) -> String {
        let header: JSONObject = ["alg": .string("HS256"), "typ": .string("JWT")]
        let signed = "\(base64url(Data(header.text.utf8))).\(base64url(Data(claims.text.utf8)))"
        let signature = HMAC<SHA256>.authenticationCode(for: Data(signed.utf8), using: key)
        return "\(signed).\(base64url(Data(signature)))"
    }

    private static func object(_ part: Substring.UTF8View, maximumDepth: Int) -> JSONObject? {
        guard let bytes = bytes(part),
            case .object(let object)? = try? JSON(parsing: Array(bytes), maximumDepth: maximumDepth),
            object.duplicate == nil
        else { return nil }
        return object
    }

    /// Decodes Base64url without padding (RFC 4648, section 5).
    private static func bytes(_ part: Substring.UTF8View) -> Data? {
        var base64: [UInt8] = []
        for byte in part {
            switch byte {
            case UInt8(ascii: "-"): base64.append(UInt8(ascii: "+"))
            case UInt8(ascii: "_"): base64.append(UInt8(ascii: "/"))
            case UInt8(ascii: "+"), UInt8(ascii: "/"), UInt8(ascii: "="): return nil
            default: base64.append(byte)
            }
        }
        base64 += Array(repeating: UInt8(ascii: "="), count: (4 - base64.count % 4) % 4)
        return Data(base64Encoded: Data(base64))
    }

    private static func base64url(_ bytes: Data) -> String {
        bytes.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }
}

/// A payload without members, so that JWTKit decodes no claim.
private struct NoClaims: JWTPayload {
    func verify(using algorithm: some JWTAlgorithm) async throws {}
}

extension JSON {
    /// The text of a string, or nil for any other value.
    fileprivate var string: String? { if case .string(let text) = self { text } else { nil } }
}
