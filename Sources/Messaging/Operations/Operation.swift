/// One method of the protocol: who may call it, what it takes, and what it does.
struct Operation: Sendable {
    /// The protocol's word for it, such as `messages.send`.
    let method: String

    let access: Access

    /// The canonical names of its params. Any other is refused.
    let parameters: [String]

    /// The canonical names of the members of those params that are objects of fields. Any other is refused.
    let members: [String: [String]]

    let perform: @Sendable (Session, Params) async throws(ProtocolError) -> Answer

    /// Its place in ``all``.
    private(set) var index = 0

    enum Access: Sendable {
        /// Needs no authenticated session (`U` in `docs/protocol.md`).
        case anyone
        case user
    }

    init(
        _ method: String, _ access: Access = .user, _ parameters: [String] = [], members: [String: [String]] = [:],
        perform: @escaping @Sendable (Session, Params) async throws(ProtocolError) -> Answer
    ) {
        self.method = method
        self.access = access
        self.parameters = parameters
        self.members = members
        self.perform = perform
    }

    /// The names that it takes: of its params, or of the members of one that is an object.
    func names(in object: String?) -> [String] {
        guard let object else { return parameters }
        return members[object] ?? []
    }
}

extension Operation {
    /// Every method of this server.
    static let all: [Operation] =
        (server + session + auth + me + avatars + profiles + conversations + messages + sync)
        .enumerated().map { index, operation in
            var operation = operation
            operation.index = index
            return operation
        }

    /// The method of that name.
    ///
    /// - Throws: `unknown_method`, with the nearest name as `data.suggestion` where one is near.
    static func named(_ method: String) throws(ProtocolError) -> Operation {
        if let operation = byMethod[method] { return operation }
        guard let suggestion = Suggestion.method(for: method, among: all.map(\.method)) else {
            throw ProtocolError(.unknownMethod, "There is no method of that name.")
        }
        throw ProtocolError(
            .unknownMethod, "There is no method of that name: did you mean \"\(suggestion)\"?",
            data: [.init(name: "suggestion", value: .string(suggestion))])
    }

    private static let byMethod = Dictionary(uniqueKeysWithValues: all.map { ($0.method, $0) })
}
