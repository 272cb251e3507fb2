/// Which request it is: `c17.42` is the 42nd of the node's 17th connection. The log calls it so.
public struct RequestID: Sendable, Equatable, CustomStringConvertible {
    public let connection: Int
    public let number: Int

    public init(connection: Int, number: Int) {
        self.connection = connection
        self.number = number
    }

    public var description: String { "c\(connection).\(number)" }
}

/// The request that a task is doing.
struct CurrentRequest: Sendable {
    @TaskLocal static var current: CurrentRequest?

    let id: RequestID

    /// The name of an operation of ours.
    let method: String

    /// Whose it is: the user's id, or the client's address where no user is signed in.
    let client: String

    /// What `pg_stat_activity` shows while a statement of the request runs: `postline c17.42 messages.send`.
    ///
    /// PostgreSQL keeps 63 bytes of it, which numbers of 15 digits leave enough of.
    var applicationName: String {
        // Made for every statement: in one piece of memory.
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
