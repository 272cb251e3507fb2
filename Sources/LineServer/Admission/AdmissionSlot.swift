import ChangeFeed
package import WireProtocol

/// A client's slot among the connections of a server, with the admission decision and the client's address.
///
/// It belongs to the connection's event loop, and moves along when another protocol takes the connection over.
package final class AdmissionSlot {
    /// The connection's number, for the log.
    package let number: Int

    /// The admission decision.
    private(set) var admission: Admissions.Admission

    /// The address by which the connection is counted: of the socket's peer, of the PROXY header or, behind a trusted
    /// proxy, of the client; nil until known.
    package private(set) var peerAddress: String?

    /// The client's address according to a trusted proxy, or nil.
    private var forwardedAddress: String?

    /// The size at which a batch of writes to the client is complete, in bytes. A protocol that stores bytes for each
    /// line besides the line itself sets a smaller one.
    package var writeBatchBytes = 1 << 16

    /// The client's address for limits, or nil until known.
    var clientAddress: String? { forwardedAddress ?? peerAddress }

    let server: ServerContext
    private let close: Admissions.Close
    private var isReleased = false

    /// - Parameters:
    ///   - peerAddress: nil if a PROXY header will provide it.
    ///   - close: closes the connection if another address needs its slot.
    init(in server: ServerContext, peerAddress: String?, close: @escaping @Sendable () -> Void) {
        self.server = server
        self.peerAddress = peerAddress
        number = server.nextNumber()
        self.close = close
        admission = server.admit(number, from: peerAddress, close: close)
    }

    /// True if the connection must be closed without a goodbye.
    package var isDropped: Bool { if case .drop = admission { true } else { false } }

    /// The goodbye of a client that is not served, or nil.
    package var refusal: Goodbye? {
        switch admission {
        case .serve: server.isStopping ? .shuttingDown : nil
        case .refuse(let refusal), .drop(let refusal): .tooManyConnections(refusal)
        }
    }

    /// Sets the client's address if it is unknown, and counts the connection towards the limit of that address.
    package func assignAddress(_ address: String) {
        guard peerAddress == nil else { return }
        peerAddress = address
        if admission == .serve { admission = server.assignAddress(address, of: number, close: close) }
    }

    /// Sets the client's address according to a trusted proxy, and counts the connection towards its limit unless it
    /// already counts for the peer.
    package func setForwardedAddress(_ address: String) {
        forwardedAddress = address
        assignAddress(address)
    }

    /// Logs that the client was greeted.
    package func opened() { server.opened(number, peerAddress: clientAddress ?? "unknown") }

    /// Logs that the connection failed before its first request.
    package func failedToOpen(_ reason: String) { server.failedToOpen(number, peerAddress, reason) }

    /// Releases the slot, once, when the connection is closed.
    package func release() {
        guard !isReleased else { return }
        isReleased = true
        server.closed(number, peerAddress: peerAddress, admission)
    }
}
