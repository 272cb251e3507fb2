/// Where the server is, and how to speak to it.
public struct Server: Sendable, Hashable {
    /// What carries the lines.
    enum Transport: Sendable, Hashable {
        case line
        /// With the path of the upgrade's request.
        case webSocket(path: String)
    }

    let host: String
    let port: Int
    let isEncrypted: Bool
    let transport: Transport

    /// The line protocol over TCP, the lightest way.
    ///
    /// - Parameters:
    ///   - host: its name, or its address.
    ///   - port: of TCP.
    ///   - isEncrypted: TLS, with a certificate that the system trusts for `host`. Without it everyone on the way can read
    ///     and change all there is: for a server on the same machine.
    public static func line(_ host: String, port: Int = 7432, isEncrypted: Bool = true) -> Server {
        Server(host: host, port: port, isEncrypted: isEncrypted, transport: .line)
    }

    /// The same over WebSocket, where only HTTP comes through.
    ///
    /// - Parameters:
    ///   - host: its name, or its address.
    ///   - port: of TCP.
    ///   - path: what of the server's address follows the port.
    ///   - isEncrypted: TLS, as with ``line(_:port:isEncrypted:)``.
    public static func webSocket(
        _ host: String, port: Int = 443, path: String = "/v1/line", isEncrypted: Bool = true
    ) -> Server {
        Server(host: host, port: port, isEncrypted: isEncrypted, transport: .webSocket(path: path))
    }
}
