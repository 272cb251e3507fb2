package import Foundations

/// The client on whose behalf a request runs: it has a share of the pool, and waits in turn with others.
package struct RequestOwner: Sendable, Hashable {
    /// The user's id, or the client's address if no user is signed in.
    package let id: String

    /// The group with which it takes turns.
    package let group: Group

    /// Owners that together have the turn of one, so that many accounts at one address get no more than one account at
    /// another.
    package enum Group: Sendable, Hashable {
        case users(AddressKey)
        case guests(AddressKey)

        /// An owner without a known address.
        case alone(String)
    }

    /// The client's address, if it is known.
    package var address: AddressKey? {
        switch group {
        case .users(let address), .guests(let address): address
        case .alone: nil
        }
    }

    /// - Parameter group: nil if the client's address is unknown.
    package init(_ id: String, in group: Group? = nil) {
        self.id = id
        self.group = group ?? .alone(id)
    }

    /// Creates the owner of the requests of an address without a signed-in user.
    package init(_ address: AddressKey) { self.init(address.description, in: .users(address)) }
}

extension RequestOwner: ExpressibleByStringInterpolation {
    package init(stringLiteral id: String) { self.init(id) }
}
