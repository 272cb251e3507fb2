public import Messaging

extension LineServer {
    /// What a line server is told when it is made; the defaults are those of the protocol.
    public struct Configuration: Sendable {
        /// The address or name to listen on.
        public var host = "127.0.0.1"

        /// The port to listen on; 0 takes any that is free.
        public var port = 7432

        /// What the server shows of itself over TLS; nil: lines are not encrypted.
        public var certificate: ServerCertificate?

        /// Whether each connection begins with a PROXY header (version 2), in which a balancer says where the client is.
        ///
        /// Whoever reaches the port says then who it is: it must be reachable by the balancer alone.
        public var expectsProxyHeader = false

        /// The server's version, as `server.hello` says it.
        public var version = "0"

        /// The largest request line, in bytes without its line end.
        public var maxLineBytes = 65_536

        /// How many requests a connection may have open before the server stops reading from it.
        public var maxInFlight = 64

        /// How many bytes of pushes may wait for one client before they are dropped and it is told that it lags.
        public var maxQueueBytes = 1 << 20

        /// How many bytes of answers may wait for all clients of the server together; beyond it those that the most
        /// waits for are cut off.
        public var maxUnwrittenBytes = 1 << 28

        /// How many clients are served at once; those beyond are told so and closed.
        public var maxConnections = 20_000

        /// How many clients of one address are served at once; nil: as many as there may be in all, since many clients
        /// share an address behind a carrier's NAT, or all of them behind a balancer.
        public var maxConnectionsPerAddress: Int?

        /// After how long without a line the server sends `server.ping`.
        public var pingInterval: Duration = .seconds(30)

        /// How long a connection may stay until its session replaces the expiry, the PROXY header and TLS's handshake
        /// included.
        public var authenticationTimeout: Duration = .seconds(60)

        /// How long a request may take before it is given up, logged and answered `internal_error`: longer than all the
        /// bounds together that could hold it, so that only a fault is given up.
        public var requestTimeout: Duration = .seconds(60)

        /// How long a client that has fallen behind, or reads nothing of what waits for it, is kept.
        public var slowConsumerTimeout: Duration = .seconds(30)

        /// How long a goodbye may take to be written, and how long after it a client's bytes are read and discarded.
        public var lingerTimeout: Duration = .seconds(2)

        /// How long requests that were taken may go on after the server was told to stop. Connections are cut then,
        /// with enough of ten seconds left for the process to end.
        public var shutdownTimeout: Duration = .seconds(8)

        /// How many connections the kernel keeps waiting to be accepted.
        public var backlog: Int32 = 4_096

        /// The kernel's receive buffer of a connection, in bytes: it bounds what a client can send ahead of being read.
        public var receiveBufferBytes: Int32 = 131_072

        /// What the server has that version 1 of the protocol began without.
        public var features = ServerInfo.features

        public init() {}
    }
}

extension LineServer.Configuration {
    /// What clients are told of it.
    public var info: ServerInfo {
        ServerInfo(
            version: self.version, maxLineBytes: self.maxLineBytes, maxInFlight: self.maxInFlight,
            pingSeconds: Int(pingInterval.components.seconds), features: features)
    }

    /// How many bytes of storage may be held by what was read and is not done, before reading stops. The beginning of the
    /// largest line, which may hold twice its length, is always less.
    var maxHeldBytes: Int { max(4 * maxLineBytes, 262_144) }

    /// How many bytes of answers may be unwritten before the next request waits.
    var maxUnwrittenAnswerBytes: Int { 65_536 }

    /// How often deadlines are looked at: a quarter of the shortest, within 5 ms and 1 s.
    var sweepInterval: Duration {
        let shortest = min(
            pingInterval, authenticationTimeout, slowConsumerTimeout, lingerTimeout,
            requestTimeout)
        return min(max(shortest / 4, .milliseconds(5)), .seconds(1))
    }
}
