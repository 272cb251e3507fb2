import LineServer
import Messaging
import NIOCore
import NIOHTTP1

/// The methods: each by its name, and all as JSON-RPC 2.0.
enum MethodRoutes {
    static let all = [
        method,
        Route(.POST, "/v1/rpc") { exchange throws(ProtocolError) in
            let envelope = Envelope(exchange.request.body)
            return try await exchange.conversation.inSession(of: exchange, forAnyone: envelope.isForAnyone) {
                session throws(ProtocolError) in
                await rpc(
                    envelope, session, exchange.request.id, within: exchange.gateway.configuration.maxBatchTime)
            }
        },
    ]

    private static let method = {
        var route = Route(.POST, "/v1/{method}") { exchange throws(ProtocolError) in
            let params = try exchange.jsonObject()
            return .json(try await exchange.call(exchange.method, exchange.isSend ? exchange.keyed(params) : params))
        }
        route.needsUser = { Request(method: $0.method, params: [:]).needsUser }
        route.takesKey = \.isSend
        return route
    }()

    /// Does one request or a batch, as on a line.
    ///
    /// - Parameter limit: the time after which no further request of a batch begins.
    private static func rpc(
        _ envelope: Envelope, _ session: any LineSession, _ id: RequestID, within limit: Duration
    ) async -> HTTPAnswer {
        let (items, isBatch) =
            switch envelope {
            case .single(let item): ([item], false)
            case .batch(let items): (items, true)
            }
        var body = ByteBuffer()
        let start = ContinuousClock.now
        for (index, item) in items.enumerated() {
            let content: Answer.Content =
                switch item.content {
                case .success where body.readableBytes > Answer.maxLineBytes: .failure(.noRoom)
                case .success where index > 0 && .now - start >= limit: .failure(.noTime(limit))
                case .success(let request): await session.answer(request, id).content
                case .failure(let error): .failure(await session.countInvalidRequest(error))
                }
            guard let sent = item.id else { continue }
            if isBatch { body.writeString(body.readableBytes == 0 ? "[" : ",") }
            body.writeAnswer(id: sent, content)
        }
        // Notifications have no answer.
        guard body.readableBytes > 0 else { return HTTPAnswer(.noContent) }
        if isBatch { body.writeString("]") }
        return .json(body)
    }
}

extension Exchange {
    /// The method that the path names.
    fileprivate var method: String { captures["method"] ?? "" }

    fileprivate var isSend: Bool { method == "messages.send" }

    /// The params of a send with its `Idempotency-Key` as the `client_id`.
    func keyed(_ params: JSONObject) throws(ProtocolError) -> JSONObject {
        guard let key = request.header("Idempotency-Key") else { return params }
        let isQuoted = key.count >= 2 && key.hasPrefix("\"") && key.hasSuffix("\"")
        guard let id = ID(isQuoted ? String(key.dropFirst().dropLast()) : key) else {
            throw .refusedHeader("Idempotency-Key", "must be a UUID, bare or in quotation marks.")
        }
        switch params["client_id"] {
        case nil, .null?:
            let others = params.members.filter { $0.name != "client_id" }
            return JSONObject(others + [.init(name: "client_id", value: .string(id.description))])
        case .string(let given)? where ID(given) == id: return params
        default: throw .refusedHeader("Idempotency-Key", "and \"client_id\" must not differ.")
        }
    }

    /// - Throws: `invalid_params` for a key where it would keep nothing from being done twice.
    func requireNoKey(_ place: String) throws(ProtocolError) {
        guard request.header("Idempotency-Key") != nil else { return }
        throw .refusedHeader(
            "Idempotency-Key", "is for sending a message alone: \(place.prefix(60)) does not read it.")
    }
}

extension Envelope {
    /// Whether nobody needs to be signed in for any of it.
    fileprivate var isForAnyone: Bool {
        let items =
            switch self {
            case .single(let item): [item]
            case .batch(let items): items
            }
        return items.allSatisfy { (try? $0.content.get())?.isForAnyone ?? true }
    }
}

extension ProtocolError {
    fileprivate static func refusedHeader(_ name: String, _ why: String) -> ProtocolError {
        ProtocolError(.invalidParams, "\(name) \(why)", data: [.init(name: "field", value: .string(name))])
    }

    /// The answer to a batch's requests after the time for its requests is over.
    fileprivate static func noTime(_ limit: Duration) -> ProtocolError {
        let seconds = limit.components.seconds
        return ProtocolError(
            .unavailable, "The requests before this one took \(seconds) s: it was not done. Ask it again.")
    }

    /// The answer to a batch's requests after its answers have reached their bound: they are held until all are done.
    fileprivate static let noRoom = ProtocolError(
        .unavailable,
        "The answers before this one fill \(Answer.maxLineBytes >> 20) MiB: it was not done. Ask it again.")
}
