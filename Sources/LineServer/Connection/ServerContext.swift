import ChangeFeed
import DatabaseAccess
import Foundations
import Logging
import Messaging
import NIOCore
import Synchronization
import WireProtocol

/// The shared state of all connections of a server.
final class ServerContext: Sendable {
    let configuration: LineServer.Configuration
    let metrics: LineMetrics
    private let logger: Logger

    /// The greeting line, encoded once.
    let hello: ByteBuffer

    /// The connections that are served.
    let connections = OpenConnections()

    private let admissions: Mutex<Admissions>
    private let newConnections: RateLimiter<AddressKey>?
    private let numbers = Atomic(0)
    private let stopping = Atomic(false)

    init(configuration: LineServer.Configuration, metrics: LineMetrics, logger: Logger) {
        self.configuration = configuration
        self.metrics = metrics
        self.logger = logger
        hello = ServerLines.hello(configuration)
        admissions = Mutex(
            Admissions(
                maxConnections: configuration.maxConnections,
                maxConnectionsPerAddress: configuration.maxConnectionsPerAddress))
        newConnections = configuration.newConnectionsPerAddress.map { RateLimiter($0) }
    }

    /// Logs the connections that did not end before the server, if there are any.
    func report(unended connections: OpenConnections) {
        guard connections.count > 0 else { return }
        logger.error("connections did not end", metadata: ["count": "\(connections.count)"])
    }

    /// True once shutdown has begun. New clients then get a goodbye.
    var isStopping: Bool { stopping.load(ordering: .acquiring) }

    func stop() { stopping.store(true, ordering: .releasing) }

    /// Returns a number that no other connection has.
    func nextNumber() -> Int { numbers.add(1, ordering: .relaxed).newValue }

    /// The number of counted addresses.
    var addressCount: Int { admissions.withLock { $0.addressCount } }

    /// Counts a new connection of an address. Returns true if the address opens them too quickly.
    func isTooOften(_ address: String) -> Bool { newConnections?.take(AddressKey(address)) != nil }

    /// Admits a new connection. Unless it is dropped, it must be released once.
    ///
    /// - Parameters:
    ///   - address: nil if unknown until ``assignAddress(_:of:close:)``.
    ///   - close: closes the connection if another address needs it.
    func admit(_ number: Int, from address: String?, close: @escaping Admissions.Close) -> Admissions.Admission {
        let (admission, displaced) = admissions.withLock { $0.admit(number, from: address, close: close) }
        if let displaced {
            metrics.refused(.displaced)
            displaced()
        }
        switch admission {
        case .serve: metrics.connected()
        case .refuse(let refusal), .drop(let refusal): metrics.refused(refusal)
        }
        return admission
    }

    /// Counts a served connection under its address, and returns the new decision.
    func assignAddress(
        _ address: String, of number: Int, close: @escaping Admissions.Close
    ) -> Admissions.Admission {
        let isTooOften = isTooOften(address)
        let admission = admissions.withLock {
            $0.assignAddress(address, of: number, isTooOften: isTooOften, close: close)
        }
        switch admission {
        case .serve: break
        case .refuse(let refusal), .drop(let refusal):
            metrics.disconnected()
            metrics.refused(refusal)
        }
        return admission
    }

    func opened(_ number: Int, peerAddress: String) {
        logger.debug("connection opened", metadata: ["connection": "c\(number)", "peer": "\(peerAddress)"])
    }

    /// Logs a connection that failed before its first line.
    func failedToOpen(_ number: Int, _ peerAddress: String?, _ reason: String) {
        logger.debug(
            "connection not opened",
            metadata: ["connection": "c\(number)", "peer": "\(peerAddress ?? "unknown")", "reason": "\(reason)"])
    }

    /// Releases an admitted connection.
    ///
    /// - Parameter admission: the connection's last decision.
    func closed(_ number: Int, peerAddress: String?, _ admission: Admissions.Admission) {
        logger.debug("connection closed", metadata: ["connection": "c\(number)"])
        switch admission {
        case .serve:
            admissions.withLock { $0.release(number, of: peerAddress) }
            metrics.disconnected()
        case .refuse: admissions.withLock { $0.releaseRefused() }
        case .drop: break
        }
    }

    /// Logs and counts a request that has exceeded the request timeout.
    ///
    /// - Returns: the error for the client, with the incident number in the log.
    func requestTimedOut(_ id: RequestID, _ item: Envelope.Item) -> ProtocolError {
        let incident = ID.random()
        metrics.requestTimedOut()
        var metadata: Logger.Metadata = ["incident": "\(incident)", "request": "\(id)"]
        // The session accepted the method, so its name is unlikely to be the client's own text.
        if case .success(let request) = item.content { metadata["method"] = "\(request.method.prefix(40))" }
        metadata["reason"] = "it was given up after \(configuration.requestTimeout)"
        logger.error("a request failed", metadata: metadata)
        return .fault("given up").withIncident(incident)
    }

    /// Logs the number of clients refused for lack of file descriptors.
    func ranOutOfDescriptors(refused: Int) {
        logger.warning("out of file descriptors: connections refused", metadata: ["count": "\(refused)"])
    }

    func listening(_ address: LineServer.Address) {
        logger.info(
            "serving lines",
            metadata: [
                "host": "\(address.host)", "port": "\(address.port)",
                "tls": "\(configuration.certificate == nil ? "off" : "on")",
            ])
    }
}

extension Goodbye {
    static let shuttingDown = Goodbye(.shuttingDown, "The server is shutting down.")
    static let overloaded = Goodbye(
        .slowConsumer, "The server holds too many requests and unread responses, and most of them are yours.")
    static let lineTooLong = Goodbye(.lineTooLong, "A line did not end.")
    static let messageTooLong = Goodbye(.lineTooLong, "A message is longer than a line may be.")

    /// The process has no file descriptors left.
    static let outOfDescriptors = Goodbye(
        .tooManyConnections, "The server has as many connections in all as the system lets it have.")

    static func tooManyConnections(_ refusal: Admissions.Refusal) -> Goodbye {
        switch refusal {
        case .fromAddress:
            Goodbye(.tooManyConnections, "The server has as many connections from your address as it takes.")
        case .inAll, .displaced: Goodbye(.tooManyConnections, "The server has as many connections in all as it takes.")
        case .tooOften: Goodbye(.tooManyConnections, "Your address opens connections too quickly.")
        }
    }
}
