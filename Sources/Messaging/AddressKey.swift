/// What limits by address count: an IPv4 address, or an IPv6 network of 64 bits, of which whoever has one address has
/// all.
///
/// An IPv4 address that came in by IPv6 (`::ffff:192.0.2.1`) is the IPv4 address.
public struct AddressKey: Hashable, Sendable, CustomStringConvertible {
    /// `192.0.2.1`, or `2001:db8:0:1::/64`.
    public let description: String

    /// - Parameter address: as text, without a port; what is no address is a key of its own.
    public init(_ address: String) {
        let mapped = "::ffff:"
        if address.hasPrefix(mapped), address.contains(".") {
            description = String(address.dropFirst(mapped.count))
        } else {
            description = Self.network(of: address) ?? address
        }
    }

    /// The network of an IPv6 address; nil where it is none.
    private static func network(of address: String) -> String? {
        let groups = address.split(separator: ":", omittingEmptySubsequences: false)
        guard groups.count > 2 else { return nil }
        // Where groups are left out, two colons stand together, and so an empty group between them.
        let gap = groups.firstIndex(of: "") ?? groups.endIndex
        let after = groups[gap...].filter { !$0.isEmpty }
        // An IPv4 address in the end is two groups.
        let written = gap + after.count + (address.contains(".") ? 1 : 0)
        let all = groups[..<gap] + Array(repeating: "0", count: max(0, 8 - written)) + after
        var network: [String] = []
        for group in all.prefix(4) {
            guard let number = UInt16(group, radix: 16) else { return nil }
            network.append(String(number, radix: 16))
        }
        return network.joined(separator: ":") + "::/64"
    }
}
