/// The address of a server and the transport to use.
public struct Server: Sendable, Hashable {
    /// The transport of the lines.
    enum Transport: Sendable, Hashable {
        case line
        /// WebSocket. The path is that of the upgrade request.
        case webSocket(path: String)
    }

    let host: String
    let port: Int
    let isEncrypted: Bool
    let transport: Transport

    /// Returns a server with the line protocol over TCP, the transport with the least overhead.
    ///
    /// - Parameters:
    ///   - host: The host name or address.
    ///   - port: The TCP port.
    ///   - isEncrypted: True for TLS with a certificate that the system trusts for `host`. Without TLS everyone on the
    ///     network path can read and change the data, so use it for a server on the same machine only.
    public static func line(_ host: String, port: Int = 7432, isEncrypted: Bool = true) -> Server {
        Server(host: host, port: port, isEncrypted: isEncrypted, transport: .line)
    }

    /// Returns a server with the line protocol over WebSocket, for networks where only HTTP gets through.
    ///
    /// - Parameters:
    ///   - host: The host name or address.
    ///   - port: The TCP port.
    ///   - path: The path of the server's WebSocket.
    ///   - isEncrypted: True for TLS. See ``line(_:port:isEncrypted:)``.
    public static func webSocket(
        _ host: String, port: Int = 443, path: String = "/v1/line", isEncrypted: Bool = true
    ) -> Server {
        Server(host: host, port: port, isEncrypted: isEncrypted, transport: .webSocket(path: path))
    }
}
