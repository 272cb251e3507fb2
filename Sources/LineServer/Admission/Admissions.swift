import Foundations
package import NIOCore

/// Admission control by the number of connections, in total and per address.
///
/// Addresses are counted only if they have a limit, and forgotten with their last connection. IPv6 addresses count by
/// /64 network.
struct Admissions {
    /// An admission decision.
    enum Admission: Equatable {
        case serve

        /// Say goodbye with the reason, then close.
        case refuse(Refusal)

        /// Close without a goodbye.
        case drop(Refusal)
    }

    /// The limit that a connection exceeds.
    enum Refusal {
        /// The limit per address.
        case fromAddress

        /// The total limit.
        case inAll

        /// The limit of new connections per address.
        case tooOften
    }

    private let maxConnections: Int
    private let maxConnectionsPerAddress: Int?

    /// The maximum number of refused connections that linger for their goodbye, each with a descriptor. In a flood, few
    /// suffice.
    private let maxLingering = 1_024

    private(set) var served = 0
    private var lingering = 0
    private var byAddress: [AddressKey: Int] = [:]

    init(maxConnections: Int, maxConnectionsPerAddress: Int?) {
        self.maxConnections = maxConnections
        self.maxConnectionsPerAddress = maxConnectionsPerAddress
    }

    /// The number of counted addresses.
    var addressCount: Int { byAddress.count }

    /// Admits a connection. Unless it is dropped, it must be released once.
    ///
    /// - Parameter address: nil if unknown until ``assignAddress(_:)``.
    mutating func admit(from address: String?) -> Admission {
        if let address, isFull(address) { return turnAway(.fromAddress) }
        guard served < maxConnections else { return turnAway(.inAll) }
        served += 1
        if let address { count(address) }
        return .serve
    }

    /// Counts a served connection under its address. If the address is at its limit, the connection stops counting as
    /// served, and must be released according to the returned decision.
    ///
    /// - Parameter isTooOften: true if the address opens connections too quickly.
    mutating func assignAddress(_ address: String, isTooOften: Bool) -> Admission {
        if let refusal: Refusal = isTooOften ? .tooOften : isFull(address) ? .fromAddress : nil {
            served -= 1
            return turnAway(refusal)
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

    /// Releases a served connection.
    ///
    /// - Parameter address: nil if it never became known.
    mutating func release(_ address: String?) {
        served -= 1
        guard maxConnectionsPerAddress != nil, let key = address.map(AddressKey.init),
            let count = byAddress[key]
        else { return }
        byAddress[key] = count > 1 ? count - 1 : nil
    }

    /// Releases a refused connection.
    mutating func releaseRefused() { lingering -= 1 }

    private mutating func turnAway(_ refusal: Refusal) -> Admission {
        guard lingering < maxLingering else { return .drop(refusal) }
        lingering += 1
        return .refuse(refusal)
    }
}

extension SocketAddress {
    /// The peer's address as text. An IPv4-mapped address (`::ffff:192.0.2.1`) is given as IPv4.
    package var peer: String {
        guard let address = ipAddress else { return "" }
        let mapped = "::ffff:"
        guard address.hasPrefix(mapped), address.contains(".") else { return address }
        return String(address.dropFirst(mapped.count))
    }
}
