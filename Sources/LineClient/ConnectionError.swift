/// What ends or prevents a connection, as opposed to an error that the server answers with.
public enum ConnectionError: Error, Sendable, Equatable, CustomStringConvertible {
    /// There is nothing there that takes connections; `reason` is the system's word for it.
    case unreachable(address: String, reason: String)
    /// Something answers, but it is no Postline server.
    case notPostline(address: String)
    /// There is no encrypted connection to whoever was meant.
    case notTrusted(address: String, reason: String)
    /// The connection is closed; `goodbye` is what the server said before, where it said something.
    ///
    /// What was asked for on it may have been done or not.
    case closed(goodbye: ServerGoodbye?)
    /// A line cannot be understood.
    case malformed(String)

    /// A sentence for a person.
    public var description: String {
        switch self {
        case .unreachable(let address, let reason): "No server can be reached at \(address): \(reason)."
        case .notPostline(let address): "The server at \(address) is not a Postline server."
        case .notTrusted(let address, let reason): "No trusted connection can be made to \(address): \(reason)."
        case .closed(let goodbye?): "The server closed the connection: \(goodbye.message)"
        case .closed(nil): "The connection to the server was lost."
        case .malformed(let reason): "The server sent a line that cannot be decoded: \(reason)."
        }
    }
}
