/// The part of a response's content that a request asks for (RFC 9110, section 14).
package enum ByteRange: Equatable, Sendable {
    /// Everything: the request has no `Range`, or one that the server ignores.
    case whole
    case part(Range<Int>)
    /// The range begins after the end of the content.
    case unsatisfiable

    /// - Parameters:
    ///   - ranges: the values of the field `Range`. Several ranges are answered with the whole content, which is permitted.
    ///   - condition: the values of the field `If-Range`. A date never matches, since responses have none.
    ///   - tag: the strong entity tag of the content, in quotes.
    package init(_ ranges: [String], ifRange condition: [String], of length: Int, tag: String) {
        guard ranges.count == 1, condition.isEmpty || condition == [tag], let bounds = Self.bounds(ranges[0]) else {
            self = .whole
            return
        }
        switch bounds {
        case (let first?, let last) where first < length:
            self = .part(first..<min(last.map { $0 + 1 } ?? length, length))
        case (nil, let suffix?) where suffix > 0 && length > 0: self = .part(max(0, length - suffix)..<length)
        default: self = .unsatisfiable
        }
    }

    /// Parses `bytes=FIRST-LAST`, `bytes=FIRST-` or `bytes=-SUFFIX`. Nil for anything else.
    private static func bounds(_ text: String) -> (first: Int?, last: Int?)? {
        let parts = text.split(separator: "=", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == "bytes" else { return nil }
        let bounds = Substring(parts[1].utf8.trimmingWhitespace)
            .split(separator: "-", omittingEmptySubsequences: false)
        guard bounds.count == 2, let first = position(bounds[0]), let last = position(bounds[1]),
            first != nil || last != nil
        else { return nil }
        if let first, let last, first > last { return nil }
        return (first, last)
    }

    /// Returns a position, or nil in it for an empty text; nil for a text that is no number. Larger numbers than any file
    /// are as good as the largest.
    private static func position(_ text: Substring) -> Int?? {
        if text.isEmpty { return .some(nil) }
        guard text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else { return nil }
        return .some(min(Int(text) ?? .max, .max - 1))
    }
}
