import WireProtocol

/// A method of the protocol: access, params, implementation and result.
struct Operation: Sendable {
    /// The method's name, such as `messages.send`.
    package let method: String

    let access: Access

    /// A description in one line.
    let summary: String

    /// The params. Any other is rejected.
    private(set) var parameters: [Parameter]

    /// Two params that exclude each other, or nil.
    let alternatives: Alternatives?

    let result: Schema

    /// The errors beyond those of every method.
    let errors: [ErrorCode]

    private(set) var perform: @Sendable (ConnectionSession, Params) async throws(ProtocolError) -> Answer

    /// The index in ``all``.
    private(set) var index = 0

    enum Access: Sendable {
        /// No authenticated session is needed (`U` in `docs/protocol.md`).
        case anyone
        case user
    }

    init(
        _ method: String, _ access: Access, _ summary: String, _ parameters: [Parameter] = [],
        alternatives: Alternatives? = nil, result: Schema, errors: [ErrorCode] = [],
        perform: @escaping @Sendable (ConnectionSession, Params) async throws(ProtocolError) -> Answer
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

    /// Returns the operation with additional params and another implementation.
    func performing(
        taking more: [Parameter] = [],
        _ perform: @escaping @Sendable (ConnectionSession, Params) async throws(ProtocolError) -> Answer
    ) -> Operation {
        var operation = self
        operation.parameters += more
        operation.perform = perform
        return operation
    }

    /// Returns the members of a param that is an object of fields, or nil for another param.
    func members(of name: String) -> [Parameter]? {
        guard let index = parameters.index(of: name), case .fields(let members) = parameters[index].type else {
            return nil
        }
        return members
    }

    /// Returns the names of the params, or of the members of a param that is an object of fields.
    func names(in object: String?) -> [String] {
        guard let object else { return parameters.names }
        return members(of: object)?.names ?? []
    }

    /// The names of the params that are objects of fields.
    var objects: [String] { parameters.names.filter { members(of: $0) != nil } }
}

extension Operation {
    /// The methods of this server.
    static let all: [Operation] =
        (server + session + auth + identities + mails + me + avatars + profiles + presence + devices + media
        + conversations + messages + scheduledMessages + blocks + reports + sync)
        .enumerated().map { index, operation in
            var operation = operation
            operation.index = index
            return operation
        }

    /// Returns the method of that name.
    ///
    /// - Throws: `unknown_method`, with a similar name as `data.suggestion` if there is one.
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
