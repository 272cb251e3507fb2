import NIOCore
import NIOHTTP1

/// The state of a connection between receiving a request and sending its response.
enum HTTPPhase {
    /// No byte of another request has arrived since the last response.
    case idle

    /// The connection waits for a request's head, or for the PROXY header or TLS handshake before the first request.
    case awaitingHead
    case receiving(HTTPRequestHead, ByteBuffer)

    /// The body streams to its receiver, until the deadline at the latest.
    case streamingBody(HTTPRequestHead, HTTPStreamingBody, until: NIODeadline)

    /// The handler is processing the request.
    case processing(HTTPRequestHead)

    /// The response is being written.
    case writing

    /// The last response is sent; further input is discarded (a lingering close).
    case lingering
    case closed

    /// The head of the request that is being received or processed.
    var head: HTTPRequestHead? {
        switch self {
        case .receiving(let head, _), .streamingBody(let head, _, _), .processing(let head): head
        case .idle, .awaitingHead, .writing, .lingering, .closed: nil
        }
    }
}
