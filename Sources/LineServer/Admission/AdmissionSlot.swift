package import Messaging

/// One client's place among those that a server serves: how it was received, and where it is.
///
/// It belongs to the connection's event loop, and goes with the connection where that is taken over by another protocol.
package final class AdmissionSlot {
    /// The connection's number, for the log.
    package let number: Int

    /// How the client was received.
    private(set) var admission: Admissions.Admission

    /// Where the client is; nil until it is known.
    package private(set) var peerAddress: String?

    /// Who is told of as the client by a proxy that is believed; nil where there is none.
    package var forwardedAddress: String?

    /// Where the client is, for its limits; nil until it is known.
    var clientAddress: String? { forwardedAddress ?? peerAddress }

    let server: ServerContext
    private var isReleased = false

    /// - Parameter peerAddress: nil where a balancer has still to tell it.
    init(in server: ServerContext, peerAddress: String?) {
        self.server = server
        self.peerAddress = peerAddress
        number = server.nextNumber()
        admission = server.admit(from: peerAddress)
    }

    /// Whether the client is to be closed without a word.
    package var isDropped: Bool { if case .drop = admission { true } else { false } }

    /// Why the client is not served, where it is not.
    package var refusal: Goodbye? {
        switch admission {
        case .serve: server.isStopping ? .shuttingDown : nil
        case .refuse(let refusal), .drop(let refusal): .tooManyConnections(refusal)
        }
    }

    /// Where the client is became known.
    package func assignAddress(_ address: String) {
        guard peerAddress == nil else { return }
        peerAddress = address
        if admission == .serve { admission = server.assignAddress(address) }
    }

    /// The client is greeted.
    package func opened() { server.opened(number, peerAddress: clientAddress ?? "unknown") }

    /// The client did not do what comes before the first request.
    package func failedToOpen(_ reason: String) { server.failedToOpen(number, peerAddress, reason) }

    /// The connection is closed.
    package func release() {
        guard !isReleased else { return }
        isReleased = true
        server.closed(number, peerAddress: peerAddress, admission)
    }
}
