/// An IP address. An IPv4-mapped IPv6 address (`::ffff:192.0.2.1`, RFC 4291, section 2.5.5.2) is the IPv4 address.
package struct IPAddress: Sendable, Hashable, CustomStringConvertible {
    /// Four bytes, or sixteen, in network order.
    package let bytes: [UInt8]

    /// True if the text was an IPv4-mapped IPv6 address.
    package let isMapped: Bool

    /// Fails if the text is not an address.
    package init?(_ text: String) {
        for (family, count) in [(AF_INET, 4), (AF_INET6, 16)] {
            var bytes = [UInt8](repeating: 0, count: count)
            // The buffer has the size of the family's addresses, which inet_pton fills.
            guard unsafe inet_pton(family, text, &bytes) == 1 else { continue }
            isMapped = count == 16 && bytes.starts(with: Self.mappedPrefix)
            self.bytes = isMapped ? Array(bytes[12...]) : bytes
            return
        }
        return nil
    }

    private init(bytes: [UInt8]) {
        self.bytes = bytes
        isMapped = false
    }

    /// The first address of the address's IPv6 network of 64 bits, or nil for an IPv4 address.
    var network64: IPAddress? {
        bytes.count == 16 ? IPAddress(bytes: bytes[..<8] + [UInt8](repeating: 0, count: 8)) : nil
    }

    private static let mappedPrefix = [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF]

    /// The canonical text of the address.
    package var description: String {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        let family = bytes.count == 4 ? AF_INET : AF_INET6
        guard unsafe inet_ntop(family, bytes, &text, socklen_t(text.count)) != nil else { return "" }
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    package static func == (left: Self, right: Self) -> Bool { left.bytes == right.bytes }
    package func hash(into hasher: inout Hasher) { hasher.combine(bytes) }
}
