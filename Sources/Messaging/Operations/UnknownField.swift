package import WireProtocol

extension ProtocolError {
    /// Returns the error for a field that an endpoint does not have, with the nearest name or else all names.
    package static func unknownField(
        _ shown: String, named name: String, of endpoint: String, among names: [String]
    ) -> ProtocolError {
        let meant = Suggestion.nearest(to: name, among: names).map { Suggestion.ParameterMatch(name: $0) }
        return unknownField(shown, of: endpoint, meant: meant, among: names)
    }

    /// Returns the error for a field that an endpoint does not have, with the suggestion or else all names.
    ///
    /// - Parameters:
    ///   - meant: the suggested param of this or another endpoint.
    ///   - names: all names that the endpoint has there.
    static func unknownField(
        _ shown: String, of endpoint: String, meant: Suggestion.ParameterMatch?, among names: [String]
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
