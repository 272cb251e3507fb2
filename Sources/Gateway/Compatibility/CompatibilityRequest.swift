import Foundations
import Messaging
import WireProtocol

/// The fields of a request to a compatibility endpoint, matched to the endpoint's mapping.
struct CompatibilityRequest: Sendable {
    /// A field of the request.
    struct Field: Sendable {
        let mapping: FieldMapping

        /// The field's name in the request, which may be an alias.
        let name: String
        let value: JSON

        /// Returns true if the field has the value that a response shows. Times are compared as instants.
        func isEquivalent(to shown: JSON) -> Bool {
            if case .time = mapping.format, case .string(let text) = value, case .string(let shown) = shown,
                let instant = RFC3339Time(text)
            {
                return instant == RFC3339Time(shown)
            }
            return value.isEquivalent(to: shown)
        }

        /// Checks that a time field has a time or null.
        ///
        /// - Throws: `invalid_params`.
        fileprivate func requireTime() throws(ProtocolError) {
            guard case .time = mapping.format, value != .null else { return }
            if case .string(let text) = value, RFC3339Time(text) != nil { return }
            throw .invalidField(
                name, "must be a time in RFC 3339, such as \"2026-11-20T10:00:00Z\", from 1970 to 9999.")
        }
    }

    /// The fields that the request sets.
    private(set) var fields: [Field] = []

    /// The read-only fields that the client sent back.
    private(set) var echoedFields: [Field] = []

    /// The members that are not in the mapping.
    private(set) var unknownFields: [JSONObject.Member] = []

    private let mapping: ObjectMapping

    /// Matches the members of a query or body to a mapping.
    ///
    /// - Throws: `invalid_params` for a repeated field, and for two aliases of one field with different values.
    init(_ members: [JSONObject.Member], mapping: ObjectMapping) throws(ProtocolError) {
        self.mapping = mapping
        if let duplicate = JSONObject(members).duplicate {
            throw .invalidField(duplicate, "is repeated: send it once.")
        }
        for member in members {
            guard let match = mapping.fields.first(where: { $0.matches(member.name) }) else {
                unknownFields.append(member)
                continue
            }
            let field = Field(mapping: match, name: member.name, value: match.format.decode(member.value))
            if match.use == .response {
                echoedFields.append(field)
                continue
            }
            guard let other = fields.first(where: { $0.mapping.name == match.name }) else {
                fields.append(field)
                continue
            }
            guard other.value.isEquivalent(to: field.value) else {
                throw .invalidField(field.name, "and \"\(other.name)\" are the same field and must not differ.")
            }
        }
    }

    /// The value that the request sets a field to, by the field's name in the mapping; nil if the request does not set it.
    subscript(_ name: String) -> JSON? { fields.first { $0.mapping.name == name }?.value }

    /// The set fields as params of the protocol, for methods without nested params.
    var params: [JSONObject.Member] { fields.map { .init(name: $0.mapping.param, value: $0.value) } }

    /// Returns the request without the fields that keep their current value.
    func changes(from current: JSONObject) -> CompatibilityRequest {
        let known = current.byName
        var changes = self
        changes.fields.removeAll { known[$0.mapping.name].map($0.value.isEquivalent) ?? false }
        return changes
    }

    /// Rejects unknown and read-only fields.
    ///
    /// - Throws: `invalid_params`.
    func rejectUnknownFields(at endpoint: String) throws(ProtocolError) {
        if let name = unknownFields.first?.name { throw unknownField(name, at: endpoint) }
        if let name = echoedFields.first?.name { throw Self.readOnlyField(name, at: endpoint) }
    }

    private func unknownField(_ name: String, at endpoint: String) -> ProtocolError {
        let names = mapping.fields.filter { $0.use != .response }.map(\.name)
        let problem = "is no field of \(endpoint)"
        if let nearest = Suggestion.nearest(to: name, among: names) {
            return .invalidField(name, "\(problem): did you mean \"\(nearest)\"?")
        }
        let taken = names.isEmpty ? "no fields" : names.map { "\"\($0)\"" }.joined(separator: ", ")
        return .invalidField(name, "\(problem), which takes \(taken).")
    }

    private static func readOnlyField(_ name: String, at endpoint: String) -> ProtocolError {
        .invalidField(name, "cannot be changed by \(endpoint).")
    }

    /// Compares the read-only fields with the current object, so that a client can send back a whole object but cannot
    /// overwrite a change that it has not read.
    ///
    /// - Parameters:
    ///   - current: the current object in the endpoint's names.
    ///   - versionField: the endpoint's name of the time of the last change. Null is treated as any other value that differs.
    /// - Throws: `version_conflict` if the object has changed, `invalid_params` for a changed read-only field or an invalid
    ///   time.
    func requireEchoes(of current: JSONObject, versionField: String, at endpoint: String) throws(ProtocolError) {
        for field in echoedFields { try field.requireTime() }
        let known = current.byName
        let stale = echoedFields.first { field in
            field.mapping.name == versionField && field.value != .null
                && !field.isEquivalent(to: known[versionField] ?? .null)
        }
        if let stale {
            throw ProtocolError(
                .versionConflict, "The object has changed since it was read. Read it again before changing it.",
                data: [.init(name: "field", value: .string(stale.name))])
        }
        for field in echoedFields where !field.isEquivalent(to: known[field.mapping.name] ?? .null) {
            throw Self.readOnlyField(field.name, at: endpoint)
        }
        for member in unknownFields {
            guard let value = known[member.name] else { throw unknownField(member.name, at: endpoint) }
            guard member.value.isEquivalent(to: value) else { throw Self.readOnlyField(member.name, at: endpoint) }
        }
    }

    /// Translates an error about a param of the protocol to the field's name in the request.
    func translate(_ error: ProtocolError) -> ProtocolError {
        // A field that has the param's name in the request is named already.
        guard let param = error.field, !fields.contains(where: { $0.name == param }),
            !unknownFields.contains(where: { $0.name == param })
        else { return error }
        let name =
            fields.first { $0.mapping.param == param }?.name ?? mapping.fields.first { $0.param == param }?.name
        guard let name, name != param else { return error }
        let data = error.data.map { $0.name == "field" ? .init(name: "field", value: .string(name)) : $0 }
        // The message may name a nested param without its path.
        let last = param.split(separator: ".").last.map(String.init) ?? param
        let message = [param, last].reduce(error.message) { $0.replacing("\"\($1)\"", with: "\"\(name)\"") }
        return ProtocolError(error.code, message, data: data)
    }
}
