import Foundations
import WireProtocol

/// The target of a request (RFC 9112, section 3.2): a path and a query in origin or absolute form, or the whole server in
/// asterisk form.
package struct RequestTarget: Sendable, Equatable {
    /// The decoded segments of the path; empty for `/`.
    package let segments: [String]

    /// The decoded fields of the query, in order.
    package let query: [(name: String, value: String)]

    /// True if the target is `*`, which is valid for `OPTIONS` only.
    package let isServerWide: Bool

    /// The host and port of an absolute form; nil otherwise.
    package let authority: HTTPAuthority?

    /// The most segments of a path, and fields of a query: more than any route has, since each costs time.
    package static let (maxSegments, maxFields) = (32, 64)

    /// Parses a target. Returns nil for another form, for more segments or fields than these, for escapes that are not
    /// UTF-8, and for long runs of combining characters.
    package init?(_ text: String) {
        isServerWide = text == "*"
        if isServerWide {
            (segments, query, authority) = ([], [], nil)
            return
        }
        // RFC 9112, section 3.2: a target has no fragment.
        guard !text.utf8.contains(UInt8(ascii: "#")) else { return nil }
        var text = Substring(text)
        var authority: HTTPAuthority?
        for scheme in ["http://", "https://"] where text.prefix(scheme.count).lowercasedASCII == scheme {
            let rest = text.dropFirst(scheme.count)
            let place = rest.prefix { $0 != "/" && $0 != "?" }
            guard let named = HTTPAuthority(String(place)), !named.host.isEmpty else { return nil }
            authority = named
            text = rest[place.endIndex...]
            if text.first != "/" { text = "/" + text }
            break
        }
        guard text.utf8.first == UInt8(ascii: "/") else { return nil }
        let parts = Self.split(text, at: "?", maxSplits: 1, omittingEmpty: false)
        let (path, fields) = (
            Self.split(parts[0], at: "/", maxSplits: Self.maxSegments),
            Self.split(parts.count > 1 ? parts[1] : "", at: "&", maxSplits: Self.maxFields)
        )
        guard path.count <= Self.maxSegments, fields.count <= Self.maxFields else { return nil }
        var segments: [String] = []
        for segment in path {
            guard let decoded = Self.decode(segment, plusIsBlank: false) else { return nil }
            segments.append(decoded)
        }
        var query: [(String, String)] = []
        for field in fields {
            let pair = Self.split(field, at: "=", maxSplits: 1, omittingEmpty: false)
            guard let name = Self.decode(pair[0], plusIsBlank: true),
                let value = Self.decode(pair.count > 1 ? pair[1] : "", plusIsBlank: true)
            else { return nil }
            query.append((name, value))
        }
        self.segments = segments
        self.query = query
        self.authority = authority
    }

    /// The name of the first field that the query repeats; nil if it repeats none.
    package var repeatedField: String? {
        var names: Set<String> = []
        return query.first { !names.insert($0.name).inserted }?.name
    }

    /// The value of the query field, or nil if the query does not have it.
    package subscript(_ name: String) -> String? { query.first { $0.name == name }?.value }

    package static func == (left: Self, right: Self) -> Bool {
        left.segments == right.segments && left.isServerWide == right.isServerWide
            && left.authority == right.authority
            && left.query.elementsEqual(right.query) { $0.name == $1.name && $0.value == $1.value }
    }

    private static func split(
        _ text: Substring, at separator: Unicode.Scalar, maxSplits: Int, omittingEmpty: Bool = true
    ) -> [Substring] {
        text.utf8.split(
            separator: UInt8(ascii: separator), maxSplits: maxSplits, omittingEmptySubsequences: omittingEmpty
        ).map(Substring.init)
    }

    private static func decode(_ text: Substring, plusIsBlank: Bool) -> String? {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "%"):
                let digits = rest.prefix(2)
                guard digits.count == 2, let value = UInt8(String(Substring(digits)), radix: 16),
                    digits.allSatisfy({ $0 != UInt8(ascii: "+") && $0 != UInt8(ascii: "-") })
                else { return nil }
                rest = rest.dropFirst(2)
                bytes.append(value)
            case UInt8(ascii: "+") where plusIsBlank: bytes.append(UInt8(ascii: " "))
            default: bytes.append(byte)
            }
        }
        guard let decoded = String(validating: bytes, as: UTF8.self), !decoded.hasLongCombiningRun else { return nil }
        return decoded
    }
}
