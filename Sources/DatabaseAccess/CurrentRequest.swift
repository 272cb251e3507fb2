package import Foundations

/// The number of a request in the log: `c17.42` is the 42nd request of the node's 17th connection.
package struct RequestID: Sendable, Equatable, CustomStringConvertible {
    package let connection: Int
    package let number: Int

    package init(connection: Int, number: Int) {
        self.connection = connection
        self.number = number
    }

    package var description: String { "c\(connection).\(number)" }
}

/// The request that the current task performs.
package struct CurrentRequest: Sendable {
    @TaskLocal package static var current: CurrentRequest?

    package let id: RequestID

    /// The name of the operation.
    package let method: String

    /// The user's id, or the client's address if no user is signed in.
    package let client: String

    /// The client's address if the user is a guest, otherwise nil.
    package var guestAddress: AddressKey?

    package init(id: RequestID, method: String, client: String, guestAddress: AddressKey? = nil) {
        self.id = id
        self.method = method
        self.client = client
        self.guestAddress = guestAddress
    }

    /// The `application_name` in `pg_stat_activity` while the request runs a statement: `postline c17.42
    /// messages.send`.
    ///
    /// PostgreSQL keeps 63 bytes of it, enough for the longest method name with numbers of 15 digits.
    package var applicationName: String {
        // Built for every statement, so it is allocated once.
        var name = "postline c"
        name.reserveCapacity(63)
        name += String(id.connection)
        name += "."
        name += String(id.number)
        name += " "
        name += method
        return name
    }
}
