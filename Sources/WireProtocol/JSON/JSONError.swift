/// The reason why bytes are not an accepted JSON text.
package enum JSONError: Error, Sendable, Equatable {
    /// The bytes are not UTF-8: malformed, overlong, a surrogate, or beyond U+10FFFF.
    case invalidUTF8

    /// The text violates RFC 8259's grammar, or escapes half of a surrogate pair.
    ///
    /// - Parameter offset: the position, in bytes.
    case malformed(offset: Int, reason: String)

    /// Arrays and objects are nested too deeply.
    case tooDeep

    /// The text has more than this number of values.
    case tooManyValues(Int)
}
