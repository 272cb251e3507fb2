package import Postgres

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

    /// The client: the user, or the address if no user is signed in.
    package let owner: RequestOwner

    package init(id: RequestID, method: String, owner: RequestOwner) {
        self.id = id
        self.method = method
        self.owner = owner
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
