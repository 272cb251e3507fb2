package import DatabaseAccess
package import LineServer
package import NIOCore
package import NIOHTTP1

/// A complete HTTP request.
package struct HTTPRequest: Sendable {
    package let method: HTTPMethod
    package let target: RequestTarget
    package let version: HTTPVersion
    package var headers: HTTPHeaders
    package let body: ByteBuffer

    /// The receiver that the body was streamed to; nil if the body was buffered.
    package var receiver: (any HTTPBodyReceiver)?

    /// The address of the socket's peer, or the client address from a load balancer's PROXY header.
    package let peerAddress: String

    /// The request's identifier in logs.
    package let id: RequestID

    /// True if the request arrived over TLS.
    package let isEncrypted: Bool

    package init(
        _ head: HTTPRequestHead, target: RequestTarget, body: ByteBuffer, receiver: (any HTTPBodyReceiver)? = nil,
        peerAddress: String, id: RequestID, isEncrypted: Bool
    ) {
        method = head.method
        self.target = target
        version = head.version
        headers = head.headers
        self.body = body
        self.receiver = receiver
        self.peerAddress = peerAddress
        self.id = id
        self.isEncrypted = isEncrypted
    }

    /// Returns the value of a header field, or nil if the request does not have it. Requests that repeat a field that is
    /// read this way are rejected earlier.
    package func header(_ name: String) -> String? { headers.first(name: name) }
}

extension HTTPRequestHead {
    /// The bytes of a head that count once: more than apps send.
    private static let usualBytes = 2_048

    /// The size of the target and the headers as it counts for the limits of requests, in bytes. Those beyond the usual
    /// count four times, since parsing a byte of a head takes four times as long as one of a body.
    var countedBytes: Int {
        let bytes = headers.reduce(uri.utf8.count) { $0 + $1.name.utf8.count + $1.value.utf8.count }
        return bytes + 3 * max(0, bytes - Self.usualBytes)
    }
}

/// The response to an HTTP request.
package struct HTTPResponse: Sendable {
    package var status: HTTPResponseStatus
    package var headers: HTTPHeaders
    package var body: ByteBuffer

    /// The file to send instead of `body`; nil to send `body`.
    package var file: HTTPFile?

    /// The part of the file that is sent; nil for the whole file.
    package var fileRange: Range<Int>?

    /// Switches the connection to another protocol once the head is written; nil to stay with HTTP. The connection closes
    /// if it throws.
    package var upgrade: (@Sendable (any Channel, AdmissionSlot) throws -> Void)?

    package init(_ status: HTTPResponseStatus, _ headers: HTTPHeaders = [:], body: ByteBuffer = ByteBuffer()) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    package init(_ status: HTTPResponseStatus, text: String, type: String = "text/plain; charset=utf-8") {
        self.init(status, ["Content-Type": type], body: ByteBuffer(string: text))
    }
}

/// Handles the requests of one connection, one after another.
package protocol HTTPRequestHandler: Sendable {
    /// Counts a request against the limits of its client, and waits while it exceeds them. The task is cancelled if the
    /// client disconnects or closes its side meanwhile.
    ///
    /// - Parameters:
    ///   - head: also of a request that the server will reject.
    ///   - bytes: the size of the head and the body, as it counts for the limits.
    ///   - canWait: false to refuse the request instead of waiting.
    /// - Returns: the response to a request beyond the limits; nil for an admitted one.
    func admit(_ head: HTTPRequestHead, bytes: Int, from peerAddress: String, canWait: Bool) async -> HTTPResponse?

    /// Returns the response to an admitted request. After the request timeout the task is cancelled and the response discarded.
    func respond(to request: HTTPRequest) async -> HTTPResponse

    /// Returns the response to a request that the server rejects before it reaches the handler, because it is invalid, too
    /// large or too slow.
    ///
    /// - Parameter headers: the request's headers that have arrived.
    func errorResponse(for error: HTTPError, headers: HTTPHeaders) -> HTTPResponse

    /// Returns the receiver that the request's body is streamed to, or nil to buffer the body. Called before any of the
    /// body has arrived.
    ///
    /// - Throws: `HTTPError` to reject the body.
    func bodyReceiver(
        for head: HTTPRequestHead, from peerAddress: String
    ) throws(HTTPError) -> (any HTTPBodyReceiver)?

    /// Releases the handler's resources after the connection has closed.
    func close() async
}

extension HTTPRequestHandler {
    package func admit(
        _ head: HTTPRequestHead, bytes: Int, from peerAddress: String, canWait: Bool
    ) async -> HTTPResponse? { nil }

    package func bodyReceiver(
        for head: HTTPRequestHead, from peerAddress: String
    ) throws(HTTPError) -> (any HTTPBodyReceiver)? { nil }
}
