import NIOHTTP1

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

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
            guard let first = pair.first, let bytes = Self.bytes(of: String(first)), pair.count <= 2 else { return nil }
            let bits = pair.count == 2 ? Int(pair[1]) : bytes.count * 8
            guard let bits, (0...bytes.count * 8).contains(bits) else { return nil }
            networks.append(Network(bytes: bytes, bits: bits))
        }
    }

    /// Where the client is: the last address that the chain of proxies names and that is none of a proxy that is believed.
    func client(of request: HTTPRequest) -> String {
        var client = request.peerAddress
        var chain = request.headers["X-Forwarded-For"].flatMap { $0.split(separator: ",") }
        while isTrusted(client), let last = chain.popLast() {
            let address = Self.withoutPort(last.split(separator: " ").joined())
            guard Self.bytes(of: address) != nil else { break }
            client = address
        }
        return client
    }

    /// Some proxies write `192.0.2.1:4711`, or `[2001:db8::1]:4711`.
    private static func withoutPort(_ address: String) -> String {
        if address.hasPrefix("[") { return String(address.dropFirst().prefix { $0 != "]" }) }
        let parts = address.split(separator: ":", omittingEmptySubsequences: false)
        return parts.count == 2 ? String(parts[0]) : address
    }

    private func isTrusted(_ address: String) -> Bool {
        guard !networks.isEmpty, let bytes = Self.bytes(of: address) else { return false }
        return networks.contains { $0.contains(bytes) }
    }

    /// The address in network order; nil where it is none.
    private static func bytes(of address: String) -> [UInt8]? {
        for (family, count) in [(AF_INET, 4), (AF_INET6, 16)] {
            var bytes = [UInt8](repeating: 0, count: count)
            // It writes as many bytes as an address of the family has.
            if unsafe inet_pton(family, address, &bytes) == 1 { return bytes }
        }
        return nil
    }
}
