internal import FoundationEssentials

/// The form that a token must have before a library reads it (RFC 7519, section 7.2).
///
/// JWTKit reads header and claims before it looks at the signature, in time that grows with the square of their depth,
/// and traps at a number in the header that is no `Int`. So they are parsed strictly first.
enum TokenForm {
    private static let maxBytes = 16_384

    /// How deep the claims may be nested: `app_metadata` and `user_metadata` are any JSON.
    private static let maxClaimDepth = 32

    /// Returns whether a text is three parts, of which the first two are objects in Base64url. The header's values are
    /// strings, booleans, null or lists of strings.
    static func isSafe(_ text: String) -> Bool {
        let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard text.utf8.count <= maxBytes, parts.count == 3,
            let header = object(parts[0], maximumDepth: 2), object(parts[1], maximumDepth: maxClaimDepth) != nil
        else { return false }
        return header.members.allSatisfy { member in
            switch member.value {
            case .null, .bool, .string: true
            case .array(let elements): elements.allSatisfy { if case .string = $0 { true } else { false } }
            case .number, .object: false
            }
        }
    }

    private static func object(_ part: Substring.UTF8View, maximumDepth: Int) -> JSONObject? {
        var base64 = part.map { byte in
            switch byte {
            case UInt8(ascii: "-"): UInt8(ascii: "+")
            case UInt8(ascii: "_"): UInt8(ascii: "/")
            default: byte
            }
        }
        base64 += Array(repeating: UInt8(ascii: "="), count: (4 - base64.count % 4) % 4)
        guard let bytes = Data(base64Encoded: Data(base64)),
            case .object(let object)? = try? JSON(parsing: Array(bytes), maximumDepth: maximumDepth),
            !object.hasLongCombiningRun
        else { return nil }
        return object
    }
}
