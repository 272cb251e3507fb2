package import Foundations
package import WireProtocol

extension LineServer {
    /// The configuration of a line server. The defaults are those of the protocol.
    package struct Configuration: Sendable {
        /// The address or name to listen on.
        package var host = "127.0.0.1"

        /// The port to listen on. 0 takes any free port.
        package var port = 7432

        /// The TLS certificate, or nil for unencrypted lines.
        package var certificate: ServerCertificate?

        /// True if each connection begins with a PROXY header (version 2), in which a balancer names the client's
        /// address.
        ///
        /// Any peer that reaches the port can then claim any address, so it must be reachable by the balancer alone.
        package var expectsProxyHeader = false

        /// The server's version, as sent in `server.hello`.
        package var version = "0"

        /// The maximum request line, in bytes without its line end.
        package var maxLineBytes = 65_536

        /// The number of open requests of a connection at which the server stops reading from it.
        package var maxInFlight = 64

        /// The maximum push bytes that may wait for one client. Beyond it they are dropped and the client gets
        /// `sync.lagged`.
        package var maxQueueBytes = 1 << 20

        /// The maximum response bytes that may wait for all clients together. Beyond it the clients with the most are
        /// cut off.
        package var maxUnwrittenBytes = 1 << 27

        /// The maximum number of served clients. Further ones get a goodbye and are closed.
        package var maxConnections = 20_000

        /// The maximum number of served clients per address. nil sets no limit, since many clients may share an address
        /// behind a carrier's NAT, or all of them behind a balancer.
        package var maxConnectionsPerAddress: Int?

        /// The rate of new connections per address, or nil for any. Those beyond are closed at once, since opening and
        /// closing one takes as much time as several requests.
        package var newConnectionsPerAddress: TokenBucket.Rate?

        /// The time without a line after which the server sends `server.ping`.
        package var pingInterval: Duration = .seconds(30)

        /// The time from connecting until the session must have replaced the expiry. It includes the PROXY header and
        /// the TLS handshake.
        package var authenticationTimeout: Duration = .seconds(60)

        /// The time after which a request is abandoned, logged and answered `internal_error`. It exceeds all bounds
        /// together that could delay a request, so only a fault reaches it.
        package var requestTimeout: Duration = .seconds(60)

        /// The time after which a client that has fallen behind, or reads nothing, is closed.
        package var slowConsumerTimeout: Duration = .seconds(30)

        /// The maximum time to write a goodbye, and the time after it in which the client's bytes are read and
        /// discarded.
        package var lingerTimeout: Duration = .seconds(2)

        /// The time that accepted requests have to finish on shutdown. Then connections are cut, which leaves the
        /// process enough of ten seconds to exit.
        package var shutdownTimeout: Duration = .seconds(8)

        /// The maximum number of connections that the kernel queues for accepting.
        package var backlog: Int32 = 4_096

        /// The kernel's receive buffer per connection, in bytes. It bounds the data that a client can send ahead.
        package var receiveBufferBytes: Int32 = 131_072

        /// The features that version 1 of the protocol gained later.
        package var features = ServerInfo.features

        /// The operator's address for users, an `https:` or `mailto:` URL, or nil.
        package var contact: String?

        package init() {}
    }
}

extension LineServer.Configuration {
    /// The part that is sent to clients.
    package var info: ServerInfo {
        ServerInfo(
            version: self.version, maxLineBytes: self.maxLineBytes, maxInFlight: self.maxInFlight,
            pingSeconds: Int(pingInterval.components.seconds), features: features, contact: contact)
    }

    /// The maximum storage in bytes for input that is read and not executed, before reading stops. It exceeds the
    /// unfinished part of the largest line, whose storage may be twice its length.
    var maxHeldBytes: Int { max(4 * maxLineBytes, 262_144) }

    /// The maximum unwritten response bytes of a connection at which its next request begins.
    var maxUnwrittenAnswerBytes: Int { 65_536 }

    /// The interval of deadline checks: a quarter of the shortest timeout, between 5 ms and 1 s.
    var sweepInterval: Duration {
        let shortest = min(
            pingInterval, authenticationTimeout, slowConsumerTimeout, lingerTimeout,
            requestTimeout)
        return min(max(shortest / 4, .milliseconds(5)), .seconds(1))
    }
}
