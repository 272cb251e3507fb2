/// The key of a client address in rate limits: an IPv4 address, or an IPv6 network of 64 bits, since the owner of one
/// address of such a network has all of them.
///
/// An IPv4 address within IPv6 (`::ffff:192.0.2.1`) counts as the IPv4 address.
package struct AddressKey: Hashable, Sendable, CustomStringConvertible {
    /// `192.0.2.1`, or `2001:db8:0:1::/64`.
    package let description: String

    /// - Parameter address: an address without a port. Any other text is its own key.
    package init(_ address: String) {
        // A link-local address may have a zone id (RFC 4007, section 11).
        guard let parsed = IPAddress(String(address.prefix { $0 != "%" })) else {
            description = address
            return
        }
        description = parsed.network64.map { "\($0)/64" } ?? parsed.description
    }
}
