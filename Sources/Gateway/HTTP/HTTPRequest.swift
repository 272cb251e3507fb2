package import LineServer
package import Messaging
package import NIOCore
package import NIOHTTP1

/// A request, whole.
package struct HTTPRequest: Sendable {
    package let method: HTTPMethod
    package let target: RequestTarget
    package let version: HTTPVersion
    package let headers: HTTPHeaders
    package let body: ByteBuffer

    /// What has taken the body, where it was not held.
    package var receiver: (any HTTPBodyReceiver)?

    /// Where the socket's other end is, or where a balancer's PROXY header says that the client is.
    package let peerAddress: String

    /// What logs call it.
    package let id: RequestID

    /// Whether it came encrypted.
    package let isEncrypted: Bool

    /// The value of a field; nil where there is none. Requests in which it has several are refused before.
    package func header(_ name: String) -> String? { headers.first(name: name) }
}

/// What a request is answered with.
package struct HTTPAnswer: Sendable {
    package var status: HTTPResponseStatus
    package var headers: HTTPHeaders
    package var body: ByteBuffer

    /// What is the body in place of that; nil: that is.
    package var file: HTTPFile?

    /// Makes of the connection one of another protocol, once the head is written; nil: it stays one of HTTP. What is
    /// thrown closes it.
    package var takeOver: (@Sendable (any Channel, AdmissionSlot) throws -> Void)?

    package init(_ status: HTTPResponseStatus, _ headers: HTTPHeaders = [:], body: ByteBuffer = ByteBuffer()) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    package init(_ status: HTTPResponseStatus, text: String, type: String = "text/plain; charset=utf-8") {
        self.init(status, ["Content-Type": type], body: ByteBuffer(string: text))
    }
}

/// What answers the requests of one connection, one after another.
package protocol HTTPConversation: Sendable {
    /// Answers a request. Where that takes too long its task is cancelled, and the answer goes nowhere.
    func answer(_ request: HTTPRequest) async -> HTTPAnswer

    /// The answer to a request that is refused before anybody has seen it: it is none, or too large, or came too slowly.
    ///
    /// - Parameter headers: the request's, as far as they came.
    func answer(_ refusal: HTTPRefusal, of headers: HTTPHeaders) -> HTTPAnswer

    /// What takes a request's body in place of its being held; nil: it is held. Asked before any of it has come.
    ///
    /// - Throws: `HTTPRefusal` where none of it is wanted.
    func receiver(of head: HTTPRequestHead, from peerAddress: String) throws(HTTPRefusal) -> (any HTTPBodyReceiver)?

    /// The connection is closed.
    func close() async
}

extension HTTPConversation {
    package func receiver(
        of head: HTTPRequestHead, from peerAddress: String
    ) throws(HTTPRefusal) -> (any HTTPBodyReceiver)? { nil }
}
