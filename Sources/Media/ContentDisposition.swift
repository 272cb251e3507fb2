/// The header field `Content-Disposition` (RFC 6266).
package enum ContentDisposition {
    /// Returns the value for a file that browsers download.
    ///
    /// Recipients that do not know `filename*` (RFC 8187) get the name with other characters than ASCII replaced. A
    /// name never has a path: slashes are replaced, too.
    ///
    /// - Parameter name: the name of the file, or nil.
    package static func download(_ name: String?) -> String { "attachment" + parameters(name) }

    /// Returns the value for a file that browsers show.
    package static func inline(_ name: String?) -> String { "inline" + parameters(name) }

    private static func parameters(_ name: String?) -> String {
        guard let name else { return "" }
        let safe = String(
            String.UnicodeScalarView(name.unicodeScalars.map { "/\\".unicodeScalars.contains($0) ? "_" : $0 }))
        let plain = safe.unicodeScalars.map { scalar in
            let isPlain = (0x20...0x7E).contains(scalar.value) && !#""%"#.unicodeScalars.contains(scalar)
            return isPlain ? String(scalar) : "_"
        }.joined()
        let quoted = #"; filename="\#(plain)""#
        return plain == safe ? quoted : quoted + "; filename*=UTF-8''" + safe.percentEncoded()
    }
}
