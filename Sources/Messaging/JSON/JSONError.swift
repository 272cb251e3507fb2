/// Why bytes are not a JSON text that is accepted.
public enum JSONError: Error, Sendable, Equatable {
    /// The bytes are not UTF-8: malformed, overlong, a surrogate, or beyond U+10FFFF.
    case invalidUTF8

    /// The text breaks RFC 8259's grammar, or escapes half of a surrogate pair.
    ///
    /// - Parameter offset: where, in bytes from the beginning.
    case malformed(offset: Int, reason: String)

    /// Arrays and objects are nested deeper than the bound.
    case tooDeep
}
