import Foundations
import NIOHTTP1

/// A host and an optional port, as in `Host` and absolute targets (RFC 9112, section 3.2; RFC 3986, section 3.2).
package struct HTTPAuthority: Sendable, Equatable {
    /// A name or an IP address, in lower case; IPv6 without its brackets.
    package let host: String

    /// True if the host is an IP address.
    package let isAddress: Bool

    /// Parses an authority, or returns nil if the text is not in the grammar. Does not check which host it names.
    package init?(_ text: String) {
        // A name has at most 255 bytes (RFC 1035, section 2.3.4), and a port five.
        guard text.utf8.count <= 261 else { return nil }
        let text = text.lowercasedASCII
        let port: Substring
        if text.hasPrefix("[") {
            guard let end = text.firstIndex(of: "]") else { return nil }
            host = String(text[text.index(after: text.startIndex)..<end])
            isAddress = true
            guard host.contains(":"), IPAddress(host) != nil else { return nil }
            port = text[end...].dropFirst()
        } else {
            let name = text.prefix { $0 != ":" }
            guard Self.isName(name) else { return nil }
            host = String(name)
            isAddress = IPAddress(host) != nil
            port = text[name.endIndex...]
        }
        guard port.isEmpty || port.first == ":" && Self.isPort(port.dropFirst()) else { return nil }
        // RFC 9110, section 4.2.1: a port requires a host.
        guard port.isEmpty || !host.isEmpty else { return nil }
    }

    /// Returns true if the text is empty or a valid port number.
    private static func isPort(_ text: Substring) -> Bool {
        text.utf8.allSatisfy(\.isDigit) && (text.isEmpty || UInt16(text) != nil)
    }

    /// Returns true if the text is a `reg-name`, which includes IPv4 addresses.
    private static func isName(_ text: Substring) -> Bool {
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "%"):
                guard rest.count >= 2, rest.prefix(2).allSatisfy(\.isHexDigit) else { return false }
                rest = rest.dropFirst(2)
            case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"), UInt8(ascii: "!"),
                UInt8(ascii: "$"), UInt8(ascii: "&")...UInt8(ascii: ","), UInt8(ascii: ";"), UInt8(ascii: "="):
                continue
            default: guard byte.isDigit || byte.isLetter else { return false }
            }
        }
        return true
    }

    /// Checks that a request has exactly one valid `Host`. It is optional in HTTP/1.0.
    ///
    /// - Throws: `HTTPError` with status 400.
    static func validateHost(_ headers: HTTPHeaders, _ version: HTTPVersion) throws(HTTPError) {
        let hosts = headers["Host"]
        guard hosts.count == 1 || hosts.isEmpty && version == .http1_0 else {
            throw HTTPError(.badRequest, "A request must have one Host header.")
        }
        guard hosts.allSatisfy({ HTTPAuthority($0) != nil }) else {
            throw HTTPError(.badRequest, "Host must be a name or an IP address, with an optional port.")
        }
    }
}
