/// One method of the protocol: who may call it, what it takes, what it does, and what it answers.
struct Operation: Sendable {
    /// The protocol's word for it, such as `messages.send`.
    let method: String

    let access: Access

    /// One line.
    let summary: String

    /// Its params. Any other is refused.
    private(set) var parameters: [Parameter]

    /// Two of its params that exclude each other; nil where none do.
    let alternatives: Alternatives?

    let result: Schema

    /// The errors that it has beyond those of every method.
    let errors: [ErrorCode]

    private(set) var perform: @Sendable (Session, Params) async throws(ProtocolError) -> Answer

    /// Its place in ``all``.
    private(set) var index = 0

    enum Access: Sendable {
        /// Needs no authenticated session (`U` in `docs/protocol.md`).
        case anyone
        case user
    }

    init(
        _ method: String, _ access: Access, _ summary: String, _ parameters: [Parameter] = [],
        alternatives: Alternatives? = nil, result: Schema, errors: [ErrorCode] = [],
        perform: @escaping @Sendable (Session, Params) async throws(ProtocolError) -> Answer
    ) {
        self.method = method
        self.access = access
        self.summary = summary
        self.parameters = parameters
        self.alternatives = alternatives
        self.result = result
        self.errors = errors
        self.perform = perform
    }

    /// The operation with more params, performed otherwise.
    func performing(
        taking more: [Parameter] = [],
        _ perform: @escaping @Sendable (Session, Params) async throws(ProtocolError) -> Answer
    ) -> Operation {
        var operation = self
        operation.parameters += more
        operation.perform = perform
        return operation
    }

    /// What the param of that name takes where it is an object of fields; nil where it is none.
    func members(of name: String) -> [Parameter]? {
        guard let index = parameters.index(of: name), case .fields(let members) = parameters[index].type else {
            return nil
        }
        return members
    }

    /// The names that it takes: of its params, or of the members of one that is an object of fields.
    func names(in object: String?) -> [String] {
        guard let object else { return parameters.names }
        return members(of: object)?.names ?? []
    }

    /// Those of its params that are objects of fields.
    var objects: [String] { parameters.names.filter { members(of: $0) != nil } }
}

extension Operation {
    /// Every method of this server.
    static let all: [Operation] =
        (server + session + auth + identities + mails + me + avatars + profiles + presence + devices + media
        + conversations + messages + sync)
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

    static let byMethod = Dictionary(uniqueKeysWithValues: all.map { ($0.method, $0) })
}
