/// The number of a request in the log: `c17.42` is the 42nd request of the node's 17th connection.
public struct RequestID: Sendable, Equatable, CustomStringConvertible {
    public let connection: Int
    public let number: Int

    public init(connection: Int, number: Int) {
        self.connection = connection
        self.number = number
    }

    public var description: String { "c\(connection).\(number)" }
}

/// The request that the current task performs.
struct CurrentRequest: Sendable {
    @TaskLocal static var current: CurrentRequest?

    let id: RequestID

    /// The name of the operation.
    let method: String

    /// The user's id, or the client's address if no user is signed in.
    let client: String

    /// The client's address if the user is a guest, otherwise nil.
    var guestAddress: AddressKey?

    /// The `application_name` in `pg_stat_activity` while the request runs a statement: `postline c17.42
    /// messages.send`.
    ///
    /// PostgreSQL keeps 63 bytes of it, enough for the longest method name with numbers of 15 digits.
    var applicationName: String {
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
