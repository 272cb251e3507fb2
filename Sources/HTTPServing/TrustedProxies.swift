import Foundations
package import NIOHTTP1

/// The networks of proxies whose `X-Forwarded-For` the gateway trusts.
package struct TrustedProxies: Sendable, Equatable {
    private struct Network: Sendable, Equatable {
        let bytes: [UInt8]
        let bits: Int

        func contains(_ address: [UInt8]) -> Bool {
            guard address.count == bytes.count else { return false }
            for index in bytes.indices {
                let rest = bits - index * 8
                if rest <= 0 { return true }
                let mask: UInt8 = rest >= 8 ? 0xFF : ~(0xFF >> UInt8(rest))
                if (bytes[index] ^ address[index]) & mask != 0 { return false }
            }
            return true
        }
    }

    private var networks: [Network] = []

    /// Trusts no proxy.
    package init() {}

    /// Parses a list of networks, or returns nil if one of them is invalid.
    ///
    /// - Parameter text: addresses and networks (`10.0.0.0/8`, `fd00::/8`), separated by commas.
    package init?(_ text: String) {
        for part in text.split(separator: ",") {
            let pair = part.split(separator: " ").joined().split(separator: "/", omittingEmptySubsequences: false)
            guard let first = pair.first, let address = IPAddress(String(first)), pair.count <= 2 else { return nil }
            // The prefix of an IPv4-mapped network includes the 96 bits before the IPv4 address.
            let before = address.isMapped ? 96 : 0
            let count = address.bytes.count * 8
            let bits = pair.count == 2 ? Int(pair[1]).map { $0 - before } : count
            guard let bits, (0...count).contains(bits) else { return nil }
            networks.append(Network(bytes: address.bytes, bits: bits))
        }
    }

    /// Returns the client's address: the last address of the proxy chain that is not a trusted proxy. Each address has one
    /// spelling, so that rate limits can use it as a key.
    package func clientAddress(from peerAddress: String, _ headers: HTTPHeaders) -> String {
        guard var client = IPAddress(peerAddress) else { return peerAddress }
        var chain = headers["X-Forwarded-For"].flatMap { $0.split(separator: ",") }
        while isTrusted(client), let last = chain.popLast() {
            guard let address = IPAddress(Self.removingPort(last.split(separator: " ").joined())) else { break }
            client = address
        }
        return client.description
    }

    /// Removes the port that some proxies add: `192.0.2.1:4711`, or `[2001:db8::1]:4711`.
    private static func removingPort(_ address: String) -> String {
        if address.hasPrefix("[") { return String(address.dropFirst().prefix { $0 != "]" }) }
        let parts = address.split(separator: ":", omittingEmptySubsequences: false)
        return parts.count == 2 ? String(parts[0]) : address
    }

    /// Returns true if an address is a trusted proxy's.
    package func contains(_ address: String) -> Bool { IPAddress(address).map(isTrusted) ?? false }

    private func isTrusted(_ address: IPAddress) -> Bool { networks.contains { $0.contains(address.bytes) } }
}
