import Messaging
package import NIOCore

/// How many connections there are, in all and from each address, and so how the next one is received.
///
/// Addresses are counted only where there is a bound for them, IPv6 by the network of 64 bits, and one that has no
/// connection any more is forgotten.
struct Admissions {
    /// How a new connection is received.
    enum Admission: Equatable {
        case serve

        /// Told why, and closed.
        case refuse(Refusal)

        /// Closed.
        case drop(Refusal)
    }

    /// Which bound a connection was beyond.
    enum Refusal {
        /// That of its address.
        case fromAddress

        /// That of all together.
        case inAll
    }

    private let maxConnections: Int
    private let maxConnectionsPerAddress: Int?

    /// Those that are told why hold a descriptor for as long as they linger: in a flood, few of them are enough.
    private let maxLingering = 1_024

    private(set) var served = 0
    private var lingering = 0
    private var byAddress: [AddressKey: Int] = [:]

    init(maxConnections: Int, maxConnectionsPerAddress: Int?) {
        self.maxConnections = maxConnections
        self.maxConnectionsPerAddress = maxConnectionsPerAddress
    }

    /// How many addresses are counted.
    var addressCount: Int { byAddress.count }

    /// Receives a connection. Unless it is dropped, it is to be released once.
    ///
    /// - Parameter address: nil where it is not known yet; ``assignAddress(_:)`` tells it.
    mutating func admit(from address: String?) -> Admission {
        if let address, isFull(address) { return turnAway(.fromAddress) }
        guard served < maxConnections else { return turnAway(.inAll) }
        served += 1
        if let address { count(address) }
        return .serve
    }

    /// A connection that is served, and that is counted in all, is from that address. Where it is not served any more,
    /// it is released as one that was received so.
    mutating func assignAddress(_ address: String) -> Admission {
        guard !isFull(address) else {
            served -= 1
            return turnAway(.fromAddress)
        }
        count(address)
        return .serve
    }

    private func isFull(_ address: String) -> Bool {
        guard let limit = maxConnectionsPerAddress else { return false }
        return byAddress[AddressKey(address), default: 0] >= limit
    }

    private mutating func count(_ address: String) {
        if maxConnectionsPerAddress != nil { byAddress[AddressKey(address), default: 0] += 1 }
    }

    /// A connection that was served is closed.
    ///
    /// - Parameter address: nil where it never became known.
    mutating func release(_ address: String?) {
        served -= 1
        guard maxConnectionsPerAddress != nil, let key = address.map(AddressKey.init),
            let count = byAddress[key]
        else { return }
        byAddress[key] = count > 1 ? count - 1 : nil
    }

    /// A connection that was told why it is not served is closed.
    mutating func releaseRefused() { lingering -= 1 }

    private mutating func turnAway(_ refusal: Refusal) -> Admission {
        guard lingering < maxLingering else { return .drop(refusal) }
        lingering += 1
        return .refuse(refusal)
    }
}

extension SocketAddress {
    /// The peer's address as text: an IPv4 address that came in by IPv6 (`::ffff:192.0.2.1`) is the IPv4 address.
    package var peer: String {
        guard let address = ipAddress else { return "" }
        let mapped = "::ffff:"
        guard address.hasPrefix(mapped), address.contains(".") else { return address }
        return String(address.dropFirst(mapped.count))
    }
}
