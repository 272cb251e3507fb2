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

    private let admissions: Mutex<Admissions>
    private let numbers = Atomic(0)
    private let stopping = Atomic(false)

    init(configuration: LineServer.Configuration, metrics: LineMetrics, logger: Logger) {
        self.configuration = configuration
        self.metrics = metrics
        self.logger = logger
        self.hello = ServerLines.hello(configuration)
        self.admissions = Mutex(
            Admissions(
                maxConnections: configuration.maxConnections,
                maxConnectionsPerAddress: configuration.maxConnectionsPerAddress))
    }

    /// Whether the server was told to stop: whoever comes now is told so.
    var isStopping: Bool { self.stopping.load(ordering: .acquiring) }

    func stop() { self.stopping.store(true, ordering: .releasing) }

    /// A number that no other connection has.
    func nextNumber() -> Int { self.numbers.add(1, ordering: .relaxed).newValue }

    /// How many addresses are counted.
    var addressCount: Int { self.admissions.withLock { $0.addressCount } }

    /// How a new connection is received; unless it is dropped, it is to be released once.
    ///
    /// - Parameter address: nil where it is not known yet; ``locate(at:)`` tells it.
    func admit(from address: String?) -> Admissions.Admission {
        let admission = self.admissions.withLock { $0.admit(from: address) }
        switch admission {
        case .serve: self.metrics.connected()
        case .refuse(let refusal), .drop(let refusal): self.metrics.refused(refusal)
        }
        return admission
    }

    /// A connection that is served is from that address: whether it still is.
    func locate(at address: String) -> Admissions.Admission {
        let admission = self.admissions.withLock { $0.locate(at: address) }
        switch admission {
        case .serve: break
        case .refuse(let refusal), .drop(let refusal):
            self.metrics.disconnected()
            self.metrics.refused(refusal)
        }
        return admission
    }

    func opened(_ number: Int, peerAddress: String) {
        self.logger.debug("connection opened", metadata: ["connection": "c\(number)", "peer": "\(peerAddress)"])
    }

    /// A client did not do what comes before lines, and is closed.
    func failedToOpen(_ number: Int, _ peerAddress: String?, _ reason: String) {
        self.logger.debug(
            "connection not opened",
            metadata: ["connection": "c\(number)", "peer": "\(peerAddress ?? "unknown")", "reason": "\(reason)"])
    }

    /// Releases what was admitted.
    ///
    /// - Parameter admission: the last that was given to the connection.
    func closed(_ number: Int, peerAddress: String?, _ admission: Admissions.Admission) {
        self.logger.debug("connection closed", metadata: ["connection": "c\(number)"])
        switch admission {
        case .serve:
            self.admissions.withLock { $0.release(peerAddress) }
            self.metrics.disconnected()
        case .refuse: self.admissions.withLock { $0.releaseRefused() }
        case .drop: break
        }
    }

    /// A request was at work for longer than anything that could hold it.
    ///
    /// - Returns: what the client is told, with the number under which the log has it.
    func gaveUp(_ id: RequestID, _ item: Envelope.Item) -> ProtocolError {
        let incident = ID.random()
        self.metrics.gaveUp()
        var metadata: Logger.Metadata = ["incident": "\(incident)", "request": "\(id)"]
        // The session has taken it for a method, so that the name is hardly the client's own text.
        if case .success(let request) = item.content { metadata["method"] = "\(request.method.prefix(40))" }
        metadata["reason"] = "it was given up after \(self.configuration.requestTimeout)"
        self.logger.error("a request failed", metadata: metadata)
        return .fault("given up").filed(under: incident)
    }

    /// Clients were turned away because there were no file descriptors left.
    func ranOutOfDescriptors(told: Int) {
        self.metrics.refusedForDescriptors(told)
        self.logger.warning("out of file descriptors: connections refused", metadata: ["count": "\(told)"])
    }

    func listening(_ address: LineServer.Address) {
        self.logger.info(
            "serving lines",
            metadata: [
                "host": "\(address.host)", "port": "\(address.port)",
                "tls": "\(self.configuration.certificate == nil ? "off" : "on")",
            ])
    }
}

extension Goodbye {
    static let shuttingDown = Goodbye(.shuttingDown, "The server is shutting down.")
    static let lineTooLong = Goodbye(.lineTooLong, "A line did not end.")

    /// The server has no file descriptors left.
    static let outOfDescriptors = Goodbye(
        .tooManyConnections, "The server has as many connections in all as the system lets it have.")

    static func tooManyConnections(_ refusal: Admissions.Refusal) -> Goodbye {
        switch refusal {
        case .fromAddress:
            Goodbye(.tooManyConnections, "The server has as many connections from your address as it takes.")
        case .inAll: Goodbye(.tooManyConnections, "The server has as many connections in all as it takes.")
        }
    }
}
