extension ProtocolError {
    /// A request's part that its endpoint does not take: the nearest that it does is named, or else all.
    package static func unknownField(
        _ shown: String, named name: String, of endpoint: String, among names: [String]
    ) -> ProtocolError {
        let meant = Suggestion.nearest(to: name, among: names).map { Suggestion.Parameter(name: $0) }
        return unknownField(shown, of: endpoint, meant: meant, among: names)
    }

    /// The same where what was probably meant is known: of this endpoint, or of another.
    ///
    /// - Parameter names: all that the endpoint takes there.
    static func unknownField(
        _ shown: String, of endpoint: String, meant: Suggestion.Parameter?, among names: [String]
    ) -> ProtocolError {
        let refusal = "\(endpoint) takes no \"\(shown)\""
        let field = JSONObject.Member(name: "field", value: .string(shown))
        if let meant {
            let place = meant.method.map { " of \"\($0)\"" } ?? ""
            let method = meant.method.map { [JSONObject.Member(name: "method", value: .string($0))] } ?? []
            return ProtocolError(
                .invalidParams, "\(refusal): did you mean \"\(meant.name)\"\(place)?",
                data: [field, .init(name: "suggestion", value: .string(meant.name))] + method)
        }
        let taken = names.isEmpty ? "no params" : names.map { "\"\($0)\"" }.joined(separator: ", ")
        return ProtocolError(.invalidParams, "\(refusal). It takes \(taken).", data: [field])
    }
}
