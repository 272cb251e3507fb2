import Messaging
import NIOHTTP1

/// A host and a port, as `Host` and absolute targets have them (RFC 9112, section 3.2, and RFC 3986, section 3.2).
package struct HTTPAuthority: Sendable, Equatable {
    /// A name or an IP address, in lower case; IPv6 without its brackets.
    package let host: String

    /// True if the host is an IP address.
    package let isAddress: Bool

    /// - Returns: nil where the text is not in the grammar. Names may be of any host.
    package init?(_ text: String) {
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
        // RFC 9110, section 4.2.1: there is no port without a host.
        guard port.isEmpty || !host.isEmpty else { return nil }
    }

    /// Digits, or none.
    private static func isPort(_ text: Substring) -> Bool {
        text.utf8.allSatisfy(\.isDigit) && (text.isEmpty || UInt16(text) != nil)
    }

    /// `reg-name`, of which an IPv4 address is one.
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

    /// Checks that a request names one host, and that validly. One of HTTP/1.0 need not name any.
    static func check(_ headers: HTTPHeaders, _ version: HTTPVersion) throws(HTTPRefusal) {
        let hosts = headers["Host"]
        guard hosts.count == 1 || hosts.isEmpty && version == .http1_0 else {
            throw HTTPRefusal(.badRequest, "A request names one Host.")
        }
        guard hosts.allSatisfy({ HTTPAuthority($0) != nil }) else {
            throw HTTPRefusal(.badRequest, "Host must be a name or an IP address, and a port where there is one.")
        }
    }
}
