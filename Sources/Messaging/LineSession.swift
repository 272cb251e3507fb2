public import NIOCore

/// A request without its envelope.
public struct Request: Sendable, Equatable {
    /// The method's name, as sent.
    public let method: String

    /// The named params; empty where the request has none.
    public let params: JSONObject

    /// True if the objects of the result have what compatibility endpoints need beside the protocol's members.
    package var isCompatible = false

    public init(method: String, params: JSONObject) {
        self.method = method
        self.params = params
    }

    /// The error that refuses a method of that name, or nil if there is one.
    package var unknownMethod: ProtocolError? {
        do throws(ProtocolError) {
            _ = try Operation.named(method)
            return nil
        } catch {
            return error
        }
    }

    /// Whether there is such a method.
    package var isKnown: Bool { unknownMethod == nil }

    /// True if the method is there and takes a signed-in user alone.
    package var needsUser: Bool { (try? Operation.named(method))?.access == .user }

    /// Whether it sends a text, and nothing with it.
    package var isTextSend: Bool {
        guard method == Operation.send.method else { return false }
        return params.members.allSatisfy {
            switch $0.name {
            case "kind": $0.value == .string("text") || $0.value == .null
            case "attachment": $0.value == .null
            default: true
            }
        }
    }

    /// Whether it is of no account who asks: nobody needs to be signed in.
    package var isForAnyone: Bool {
        guard case .anyone? = (try? Operation.named(method))?.access else { return false }
        return true
    }
}

/// What a request is answered with.
public struct Answer: Sendable {
    public enum Content: Sendable {
        /// The result as JSON text.
        case result(ByteBuffer)
        case failure(ProtocolError)
    }

    /// The largest line that an answer may come to, in bytes.
    public static let maxLineBytes = 4 << 20

    public var content: Content

    /// Runs once the answer, or the batch it belongs to, is on its way out, before anything that is sent later.
    public var afterWriting: (@Sendable () async -> Void)?

    public init(_ content: Content, afterWriting: (@Sendable () async -> Void)? = nil) {
        self.content = content
        self.afterWriting = afterWriting
    }
}

/// One connection's conversation with the service: unauthenticated, or one user.
public protocol LineSession: Sendable {
    /// Does what the request asks and never throws: every failure is an answer.
    ///
    /// The caller gives the next request only after the answer to the last, so that requests take effect in order. One
    /// that is not answered in time it gives up: its task is cancelled, and its answer, if one comes, goes nowhere.
    ///
    /// - Parameter id: what logs call the request.
    func answer(_ request: Request, _ id: RequestID) async -> Answer

    /// Does what some requests ask that were sent one after another, each a text (``Request/isTextSend``), in their order
    /// but perhaps together: as many answers.
    ///
    /// - Parameter ids: as many as requests.
    func answer(_ sends: [Request], _ ids: [RequestID]) async -> [Answer]

    /// Counts an item of a line that is no request, as ``answer(_:_:)`` counts requests.
    ///
    /// - Throws: `rate_limited`, `timeout`.
    func countInvalidRequest() async throws(ProtocolError)

    /// Ends the session: no push comes after it.
    func close() async
}

extension LineSession {
    /// Counts an item of a line that is no request, and returns its error, or that its client has sent too many.
    public func counted(_ error: ProtocolError) async -> ProtocolError {
        do throws(ProtocolError) {
            try await countInvalidRequest()
            return error
        } catch {
            return error
        }
    }

    /// One after another.
    public func answer(_ sends: [Request], _ ids: [RequestID]) async -> [Answer] {
        var answers: [Answer] = []
        for (send, id) in zip(sends, ids) { answers.append(await answer(send, id)) }
        return answers
    }
}

/// What makes a session for each new connection.
public protocol SessionFactory: Sendable {
    /// - Parameter peerAddress: the client's address without the port, for limits and logs.
    func makeSession(sink: any ClientSink, peerAddress: String) -> any LineSession

    /// Counts a request that reaches no session, and waits until its client may have it looked at.
    func countRequest(peerAddress: String) async
}
