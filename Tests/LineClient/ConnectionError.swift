/// An error that ends or prevents a connection, other than an error response.
package enum ConnectionError: Error, Sendable, Equatable, CustomStringConvertible {
    /// No server accepts connections at the address. `reason` is the system's message.
    case unreachable(address: String, reason: String)
    /// The server is not a Postline server.
    case notPostline(address: String)
    /// TLS failed or the certificate is not trusted.
    case notTrusted(address: String, reason: String)
    /// The connection is closed. `goodbye` is the server's reason, if it sent one.
    ///
    /// The server may have executed the pending requests.
    case closed(goodbye: ServerGoodbye?)
    /// A line cannot be decoded.
    case malformed(String)

    /// The error in a sentence.
    package var description: String {
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
