import NIOCore
import NIOHTTP1

/// Where a connection is in taking and answering its requests.
enum HTTPPhase {
    /// Nothing of a request has come since the last answer.
    case idle

    /// A request's head is awaited, or what comes before the first.
    case awaitingHead
    case receiving(HTTPRequestHead, ByteBuffer)

    /// The body goes to its receiver as it comes, until then at the latest.
    case passingOn(HTTPRequestHead, HTTPBodyInFlight, until: NIODeadline)

    case atWork(HTTPRequestHead)

    /// The answer is on its way out.
    case writing

    /// The last answer is out, and what still comes is discarded.
    case leaving
    case closed

    /// The head of the request that is being taken or answered.
    var head: HTTPRequestHead? {
        switch self {
        case .receiving(let head, _), .passingOn(let head, _, _), .atWork(let head): head
        case .idle, .awaitingHead, .writing, .leaving, .closed: nil
        }
    }
}
