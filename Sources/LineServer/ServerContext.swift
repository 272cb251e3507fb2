import Logging
import Messaging
import NIOCore
import Synchronization

/// What all connections of a server share.
final class ServerContext: Sendable {
    let configuration: LineServer.Configuration
    let metrics: LineMetrics
    private let logger: Logger

    /// The line that greets every client, made once.
    let hello: ByteBuffer

    private let served = Atomic(0)
    private let refused = Atomic(0)
    private let numbers = Atomic(0)
    private let stopping = Atomic(false)

    init(configuration: LineServer.Configuration, logger: Logger) {
        self.configuration = configuration
        self.metrics = LineMetrics()
        self.logger = logger
        self.hello = ServerLines.hello(configuration)
    }

    /// Whether the server was told to stop: whoever comes now is told so.
    var isStopping: Bool { self.stopping.load(ordering: .acquiring) }

    func stop() { self.stopping.store(true, ordering: .releasing) }

    /// A number that no other connection has.
    func nextNumber() -> Int { self.numbers.add(1, ordering: .relaxed).newValue }

    /// How a new connection is received; each is to be released once.
    func admit() -> Admission {
        let count = self.served.add(1, ordering: .relaxed).newValue
        if count <= self.configuration.maxConnections {
            self.metrics.connections(count)
            return .serve
        }
        self.served.subtract(1, ordering: .relaxed)
        self.metrics.refused()
        // Those that are told why hold a descriptor for as long as they linger: in a flood, few of them are enough.
        guard self.refused.add(1, ordering: .relaxed).newValue <= 1_024 else {
            self.refused.subtract(1, ordering: .relaxed)
            return .drop
        }
        return .refuse
    }

    func opened(_ number: Int, peerAddress: String) {
        self.logger.debug("connection opened", metadata: ["connection": "\(number)", "peer": "\(peerAddress)"])
    }

    /// Releases what was admitted.
    func closed(_ number: Int, isRefused: Bool) {
        self.logger.debug("connection closed", metadata: ["connection": "\(number)"])
        if isRefused {
            self.refused.subtract(1, ordering: .relaxed)
        } else {
            self.metrics.connections(self.served.subtract(1, ordering: .relaxed).newValue)
        }
    }

    /// Clients were turned away because there were no file descriptors left.
    func ranOutOfDescriptors(told: Int) {
        for _ in 0..<told { self.metrics.refused() }
        self.logger.warning("out of file descriptors: connections refused", metadata: ["count": "\(told)"])
    }

    func listening(_ address: LineServer.Address) {
        self.logger.info("serving lines", metadata: ["host": "\(address.host)", "port": "\(address.port)"])
    }

    enum Admission {
        case serve

        /// Told why, and closed.
        case refuse

        /// Closed.
        case drop
    }
}

extension Goodbye {
    static let shuttingDown = Goodbye(.shuttingDown, "The server is shutting down.")
    static let tooManyConnections = Goodbye(.tooManyConnections, "The server has as many connections as it can take.")
    static let lineTooLong = Goodbye(.lineTooLong, "A line did not end.")
}
