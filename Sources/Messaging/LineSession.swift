package import ChangeFeed
package import DatabaseAccess
package import NIOCore
package import Postgres
package import WireProtocol

/// A request without its envelope.
package struct Request: Sendable, Equatable {
    /// The method's name as sent.
    package let method: String

    /// The named params; empty if the request has none.
    package let params: JSONObject

    /// True if the result has additional members for compatibility endpoints.
    package var isCompatible = false

    package init(method: String, params: JSONObject) {
        self.method = method
        self.params = params
    }

    /// The `unknown_method` error, or nil if the method exists.
    package var unknownMethod: ProtocolError? {
        do throws(ProtocolError) {
            _ = try Operation.named(method)
            return nil
        } catch {
            return error
        }
    }

    /// True if the method exists.
    package var isKnown: Bool { unknownMethod == nil }

    /// True if the method exists and needs a signed-in user.
    package var needsUser: Bool { (try? Operation.named(method))?.access == .user }

    /// True if the request sends a text without attachment.
    package var isTextSend: Bool {
        guard method == Operation.send.method else { return false }
        return params.members.allSatisfy {
            switch $0.name {
            case "kind": $0.value == .string("text") || $0.value == .null
            case "attachment", "attachments": $0.value == .null
            case "is_streaming": $0.value == .bool(false) || $0.value == .null
            default: true
            }
        }
    }

    /// True if the method exists and needs no signed-in user.
    package var isForAnyone: Bool {
        guard case .anyone? = (try? Operation.named(method))?.access else { return false }
        return true
    }
}

/// The answer to a request.
package struct Answer: Sendable {
    package enum Content: Sendable {
        /// The result as JSON text.
        case result(ByteBuffer)
        case failure(ProtocolError)
    }

    /// The maximum length of an answer's line, in bytes.
    package static let maxLineBytes = 4 << 20

    package var content: Content

    /// Called when the answer, or its JSON-RPC batch, has been queued, before anything that is sent later.
    package var afterWriting: (@Sendable () async -> Void)?

    package init(_ content: Content, afterWriting: (@Sendable () async -> Void)? = nil) {
        self.content = content
        self.afterWriting = afterWriting
    }
}

/// The session of one connection: unauthenticated or of one user.
package protocol LineSession: Sendable {
    /// The owner of the session's requests where requests share something: its user, or else the client's address.
    var owner: RequestOwner { get async }

    /// Performs a request. Every failure is an answer.
    ///
    /// The caller sends the next request after the answer to the last, so that requests take effect in order. When a
    /// request times out, the caller cancels its task and discards the answer.
    ///
    /// - Parameter id: the number of the request in the log.
    func answer(_ request: Request, _ id: RequestID) async -> Answer

    /// Performs pipelined requests that each send a text (``Request/isTextSend``), in order but possibly in a batch.
    ///
    /// - Parameter ids: an id for each request.
    /// - Returns: an answer for each request.
    func answer(_ sends: [Request], _ ids: [RequestID]) async -> [Answer]

    /// Counts a request against the limits of its user, or of its address, and waits while it exceeds them.
    ///
    /// Called before the request is parsed, so that a client gets no more parsing than its limits allow, and a waiting
    /// request needs no more memory than its bytes.
    ///
    /// - Parameter canWait: false to throw `rate_limited` instead of waiting.
    /// - Returns: True if the request has waited.
    /// - Throws: `rate_limited`; `timeout` if the task is cancelled while it waits.
    @discardableResult
    func admitRequest(bytes: Int, canWait: Bool) async throws(ProtocolError) -> Bool

    /// Counts more requests, which came with an admitted one. Later requests wait for them.
    func countRequests(_ count: Int) async

    /// Ends the session. No push follows.
    func close() async
}

extension LineSession {
    /// Performs the requests sequentially.
    package func answer(_ sends: [Request], _ ids: [RequestID]) async -> [Answer] {
        var answers: [Answer] = []
        for (send, id) in zip(sends, ids) { answers.append(await answer(send, id)) }
        return answers
    }
}

/// A factory of sessions for new connections.
package protocol SessionFactory: Sendable {
    /// - Parameter peerAddress: the client's address without the port, for limits and logs.
    func makeSession(sink: any ClientSink, peerAddress: String) -> any LineSession

    /// Counts a request of a client without a session against the limit of its address, and waits while it exceeds
    /// that (``LineSession/admitRequest(bytes:canWait:)``).
    func admitRequest(peerAddress: String, bytes: Int, canWait: Bool) async throws(ProtocolError)
}
