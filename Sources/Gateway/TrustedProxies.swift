import Messaging
import NIOHTTP1

/// The networks of proxies whose `X-Forwarded-For` is believed.
public struct TrustedProxies: Sendable, Equatable {
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

    /// Nobody is believed.
    public init() {}

    /// - Parameter text: addresses and networks (`10.0.0.0/8`, `fd00::/8`), separated by commas.
    /// - Returns: nil where one of them is none.
    public init?(_ text: String) {
        for part in text.split(separator: ",") {
            let pair = part.split(separator: " ").joined().split(separator: "/", omittingEmptySubsequences: false)
            guard let first = pair.first, let address = IPAddress(String(first)), pair.count <= 2 else { return nil }
            // A network of IPv4 addresses within IPv6 has its prefix counted from the 96 bits before them.
            let before = address.isMapped ? 96 : 0
            let count = address.bytes.count * 8
            let bits = pair.count == 2 ? Int(pair[1]).map { $0 - before } : count
            guard let bits, (0...count).contains(bits) else { return nil }
            networks.append(Network(bytes: address.bytes, bits: bits))
        }
    }

    /// Returns the client's address: the last that the chain of proxies names and that is not one of a trusted proxy. Each
    /// address is written in one way, so that limits count by it.
    func client(from peerAddress: String, _ headers: HTTPHeaders) -> String {
        guard var client = IPAddress(peerAddress) else { return peerAddress }
        var chain = headers["X-Forwarded-For"].flatMap { $0.split(separator: ",") }
        while isTrusted(client), let last = chain.popLast() {
            guard let address = IPAddress(Self.withoutPort(last.split(separator: " ").joined())) else { break }
            client = address
        }
        return client.description
    }

    /// Some proxies write `192.0.2.1:4711`, or `[2001:db8::1]:4711`.
    private static func withoutPort(_ address: String) -> String {
        if address.hasPrefix("[") { return String(address.dropFirst().prefix { $0 != "]" }) }
        let parts = address.split(separator: ":", omittingEmptySubsequences: false)
        return parts.count == 2 ? String(parts[0]) : address
    }

    private func isTrusted(_ address: IPAddress) -> Bool { networks.contains { $0.contains(address.bytes) } }
}
