import DatabaseAccess
import Foundations
import HTTPServing
import LineServer
import Messaging
import NIOCore
import NIOHTTP1
import WireProtocol

/// The routes of the methods: one path for each, and JSON-RPC 2.0 for all.
enum MethodRoutes {
    static let all = [
        method,
        Route(.POST, "/v1/rpc") { context throws(ProtocolError) in
            let envelope = Envelope(context.request.body)
            return try await context.handler.withSession(for: context, allowsAnonymous: envelope.allowsAnonymous) {
                session throws(ProtocolError) in
                try await rpc(envelope, session, context)
            }
        },
    ]

    private static let method = {
        var route = Route(.POST, "/v1/{method}") { context throws(ProtocolError) in
            let params = try context.jsonObject()
            return .json(
                try await context.call(
                    context.method, context.isSend ? context.addingIdempotencyKey(to: params) : params))
        }
        route.requiresUser = { Request(method: $0.method, params: [:]).needsUser }
        route.acceptsIdempotencyKey = \.isSend
        return route
    }()

    /// Executes a request or a batch, as on the line port.
    private static func rpc(
        _ envelope: Envelope, _ session: any LineSession, _ context: RequestContext
    ) async throws(ProtocolError) -> HTTPResponse {
        let body: ByteBuffer
        switch envelope {
        case .single(let item):
            body = await answers(to: [item], isBatch: false, session, context)
        case .batch(let items):
            await session.countRequests(items.count - 1)
            body = try await context.gateway.batches.run(for: await session.owner) {
                await answers(to: items, isBatch: true, session, context)
            }
        }
        // Notifications have no response.
        return body.readableBytes == 0 ? HTTPResponse(.noContent) : .json(body)
    }

    /// Executes the items one after another, and returns their answers, those of a batch as an array.
    private static func answers(
        to items: [Envelope.Item], isBatch: Bool, _ session: any LineSession, _ context: RequestContext
    ) async -> ByteBuffer {
        var body = ByteBuffer()
        let start = ContinuousClock.now
        let limit = context.gateway.configuration.maxBatchTime
        for (index, item) in items.enumerated() {
            let content: Answer.Content =
                switch item.content {
                case .success where body.readableBytes > Answer.maxLineBytes: .failure(.batchSizeExceeded)
                case .success where index > 0 && .now - start >= limit: .failure(.batchTimeExceeded(limit))
                case .success(let request): await session.answer(request, context.request.id).content
                case .failure(let error): .failure(error)
                }
            guard let sent = item.id else { continue }
            if isBatch { body.writeString(body.readableBytes == 0 ? "[" : ",") }
            body.writeAnswer(id: sent, content)
        }
        if isBatch, body.readableBytes > 0 { body.writeString("]") }
        return body
    }
}

extension RequestContext {
    /// The method in the path.
    fileprivate var method: String { pathParameters["method"] ?? "" }

    fileprivate var isSend: Bool { method == "messages.send" }

    /// Returns the params of a send with its `Idempotency-Key` as the `client_id`.
    ///
    /// - Throws: `invalid_params` if the key is not a UUID, or differs from `client_id`.
    func addingIdempotencyKey(to params: JSONObject) throws(ProtocolError) -> JSONObject {
        guard let key = request.header("Idempotency-Key") else { return params }
        let isQuoted = key.count >= 2 && key.hasPrefix("\"") && key.hasSuffix("\"")
        guard let id = ID(isQuoted ? String(key.dropFirst().dropLast()) : key) else {
            throw .invalidHeader("Idempotency-Key", "must be a UUID, with or without quotation marks.")
        }
        switch params["client_id"] {
        case nil, .null?:
            let others = params.members.filter { $0.name != "client_id" }
            return JSONObject(others + [.init(name: "client_id", value: .string(id.description))])
        case .string(let given)? where ID(given) == id: return params
        default: throw .invalidHeader("Idempotency-Key", "and \"client_id\" must not differ.")
        }
    }

    /// Rejects an `Idempotency-Key` where it would not prevent a repetition.
    ///
    /// - Throws: `invalid_params`.
    func rejectIdempotencyKey(at endpoint: String) throws(ProtocolError) {
        guard request.header("Idempotency-Key") != nil else { return }
        throw .invalidHeader(
            "Idempotency-Key", "is only for sending messages: \(endpoint.prefix(60)) does not read it.")
    }
}

extension Envelope {
    /// True if no request of the envelope requires authentication.
    fileprivate var allowsAnonymous: Bool {
        let items =
            switch self {
            case .single(let item): [item]
            case .batch(let items): items
            }
        return items.allSatisfy { (try? $0.content.get())?.isForAnyone ?? true }
    }
}

extension ProtocolError {
    fileprivate static func invalidHeader(_ name: String, _ problem: String) -> ProtocolError {
        ProtocolError(.invalidParams, "\(name) \(problem)", data: [.init(name: "field", value: .string(name))])
    }

    /// Returns the error of a batch's requests that would begin after the time limit.
    fileprivate static func batchTimeExceeded(_ limit: Duration) -> ProtocolError {
        let seconds = limit.components.seconds
        return ProtocolError(
            .unavailable, "The batch reached \(seconds) s before this request, which was not executed. Send it again.")
    }

    /// The error of a batch's requests after its buffered responses have reached their bound.
    fileprivate static let batchSizeExceeded = ProtocolError(
        .unavailable,
        "The batch's responses reached \(Answer.maxLineBytes >> 20) MiB before this request, which was not executed. Send it again."
    )
}
