import Foundations
package import NIOCore

/// Admission control by the number of connections, in total and per address.
///
/// When all connections are taken, the address with the most gives one up for an address that would still have fewer.
/// Addresses are forgotten with their last connection. IPv6 addresses count by /64 network.
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

        /// The total limit, when another address needed the connection.
        case displaced
    }

    /// Closes a connection. It may be called on any thread.
    typealias Close = @Sendable () -> Void

    private let maxConnections: Int
    private let maxConnectionsPerAddress: Int?

    /// The maximum number of refused connections that linger for their goodbye, each with a descriptor. In a flood, few
    /// suffice.
    private let maxLingering = 1_024

    private(set) var served = 0
    private var lingering = 0

    /// The served connections of each address, by number.
    private var byAddress: [AddressKey: [Int: Close]] = [:]

    /// The addresses by their number of connections, and the largest such number.
    private var byCount: [Int: Set<AddressKey>] = [:]
    private var largestCount = 0

    init(maxConnections: Int, maxConnectionsPerAddress: Int?) {
        self.maxConnections = maxConnections
        self.maxConnectionsPerAddress = maxConnectionsPerAddress
    }

    /// The number of counted addresses.
    var addressCount: Int { byAddress.count }

    /// Admits a connection. Unless it is dropped, it must be released once.
    ///
    /// - Parameters:
    ///   - number: the connection's number, which no other has.
    ///   - address: nil if unknown until ``assignAddress(_:of:isTooOften:close:)``.
    ///   - close: closes the connection if another address needs it.
    /// - Returns: the decision, and how to close the connection that was displaced, or nil.
    mutating func admit(
        _ number: Int, from address: String?, close: @escaping Close
    ) -> (admission: Admission, displaced: Close?) {
        let key = address.map(AddressKey.init)
        if let key, isFull(key) { return (turnAway(.fromAddress), nil) }
        var displaced: Close?
        if served >= maxConnections {
            displaced = key.flatMap { displace(for: $0) }
            guard displaced != nil else { return (turnAway(.inAll), nil) }
        }
        served += 1
        if let key { add(number, to: key, close) }
        return (.serve, displaced)
    }

    /// Counts a served connection under its address. If the address is at its limit, the connection stops counting as
    /// served, and must be released according to the returned decision.
    ///
    /// - Parameter isTooOften: true if the address opens connections too quickly.
    mutating func assignAddress(
        _ address: String, of number: Int, isTooOften: Bool, close: @escaping Close
    ) -> Admission {
        let key = AddressKey(address)
        if let refusal: Refusal = isTooOften ? .tooOften : isFull(key) ? .fromAddress : nil {
            served -= 1
            return turnAway(refusal)
        }
        add(number, to: key, close)
        return .serve
    }

    /// Releases a served connection. Does nothing for one that was displaced.
    ///
    /// - Parameter address: nil if it never became known.
    mutating func release(_ number: Int, of address: String?) {
        guard let address else { return served -= 1 }
        if remove(number, from: AddressKey(address)) != nil { served -= 1 }
    }

    /// Releases a refused connection.
    mutating func releaseRefused() { lingering -= 1 }

    private func isFull(_ address: AddressKey) -> Bool {
        guard let limit = maxConnectionsPerAddress else { return false }
        return byAddress[address]?.count ?? 0 >= limit
    }

    /// Removes a connection of an address that has the most, unless `address` would then have as many. Returns how to
    /// close it, or nil.
    private mutating func displace(for address: AddressKey) -> Close? {
        guard largestCount > (byAddress[address]?.count ?? 0) + 1, let largest = byCount[largestCount]?.first,
            let number = byAddress[largest]?.first?.key, let close = remove(number, from: largest)
        else { return nil }
        served -= 1
        return close
    }

    private mutating func add(_ number: Int, to address: AddressKey, _ close: @escaping Close) {
        byAddress[address, default: [:]][number] = close
        recount(address, from: (byAddress[address]?.count ?? 0) - 1)
    }

    private mutating func remove(_ number: Int, from address: AddressKey) -> Close? {
        guard let close = byAddress[address]?.removeValue(forKey: number) else { return nil }
        recount(address, from: (byAddress[address]?.count ?? 0) + 1)
        return close
    }

    /// Moves an address to the set of its new count, which differs by one.
    private mutating func recount(_ address: AddressKey, from before: Int) {
        let count = byAddress[address]?.count ?? 0
        byCount[before]?.remove(address)
        if byCount[before]?.isEmpty == true { byCount[before] = nil }
        if count > 0 { byCount[count, default: []].insert(address) } else { byAddress[address] = nil }
        if count > largestCount || byCount[largestCount] == nil { largestCount = count }
    }

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
