import Messaging

/// The fields of a request to a document's endpoint, by the document's table of names.
struct DialectRequest: Sendable {
    /// A field as the request has it.
    struct Given: Sendable {
        let field: DialectField

        /// As the request spells it.
        let name: String
        let value: JSON

        /// True if it says what an answer shows: of a time the same instant, in whatever form.
        func says(_ shown: JSON) -> Bool {
            if case .time = field.form, case .string(let text) = value, case .string(let shown) = shown,
                let instant = Instant(text)
            {
                return instant == Instant(shown)
            }
            return value.saysTheSame(as: shown)
        }

        /// - Throws: `invalid_params` for a time that is none. Null is one that is not there.
        fileprivate func requireTime() throws(ProtocolError) {
            guard case .time = field.form, value != .null else { return }
            if case .string(let text) = value, Instant(text) != nil { return }
            throw .refused(name, "must be a time in RFC 3339, such as \"2026-11-20T10:00:00Z\", from 1970 to 9999.")
        }
    }

    /// What is to be done.
    private(set) var given: [Given] = []

    /// What is shown alone, and came back.
    private(set) var echoed: [Given] = []

    /// What stands in no table.
    private(set) var unknown: [JSONObject.Member] = []

    private let table: DialectTable

    /// - Throws: `invalid_params` for a field that stands twice, and for two spellings of one that disagree.
    init(_ members: [JSONObject.Member], by table: DialectTable) throws(ProtocolError) {
        self.table = table
        if let twice = JSONObject(members).duplicate { throw .refused(twice, "is given twice.") }
        for member in members {
            guard let field = table.fields.first(where: { $0.isCalled(member.name) }) else {
                unknown.append(member)
                continue
            }
            let one = Given(field: field, name: member.name, value: field.form.param(member.value))
            if field.use == .answer {
                echoed.append(one)
                continue
            }
            guard let other = given.first(where: { $0.field.name == field.name }) else {
                given.append(one)
                continue
            }
            guard other.value.saysTheSame(as: one.value) else {
                throw .refused(one.name, "and \"\(other.name)\" are one field, and differ.")
            }
        }
    }

    /// What a field is to become, by its name in the table; nil where the request says nothing of it.
    subscript(_ name: String) -> JSON? { given.first { $0.field.name == name }?.value }

    /// What is given, in our names, for a method whose params lie side by side.
    var params: [JSONObject.Member] { given.map { .init(name: $0.field.param, value: $0.value) } }

    /// Without the fields that are as they were.
    func changes(from current: JSONObject) -> DialectRequest {
        let known = current.byName
        var changes = self
        changes.given.removeAll { known[$0.field.name].map($0.value.saysTheSame) ?? false }
        return changes
    }

    /// - Throws: `invalid_params` for what the endpoint does not take.
    func requireKnown(at endpoint: String) throws(ProtocolError) {
        if let name = unknown.first?.name { throw refusal(of: name, at: endpoint) }
        if let name = echoed.first?.name { throw Self.unchangeable(name, at: endpoint) }
    }

    private func refusal(of name: String, at endpoint: String) -> ProtocolError {
        let names = table.fields.filter { $0.use != .answer }.map(\.name)
        let refusal = "is nothing that \(endpoint) takes"
        if let nearest = Suggestion.nearest(to: name, among: names) {
            return .refused(name, "\(refusal): did you mean \"\(nearest)\"?")
        }
        let taken = names.isEmpty ? "no fields" : names.map { "\"\($0)\"" }.joined(separator: ", ")
        return .refused(name, "\(refusal). It takes \(taken).")
    }

    private static func unchangeable(_ name: String, at endpoint: String) -> ProtocolError {
        .refused(name, "cannot be changed by \(endpoint).")
    }

    /// Holds what is shown alone against what is: the whole object may come back as it was read, and whoever read it
    /// before it last changed is told so.
    ///
    /// - Parameters:
    ///   - current: what is, in the document's names.
    ///   - updated: the document's name for when it last changed.
    /// - Throws: `version_conflict`, or `invalid_params` for what cannot be changed, and for a time that is none. Null
    ///   says nothing of a version: as with any other field, it is a value that is not the one shown.
    func requireEchoes(of current: JSONObject, updated: String, at endpoint: String) throws(ProtocolError) {
        for one in echoed { try one.requireTime() }
        let known = current.byName
        let stale = echoed.first { one in
            one.field.name == updated && one.value != .null && !one.says(known[updated] ?? .null)
        }
        if let stale {
            throw ProtocolError(
                .versionConflict, "It has changed since: read it again, and then change it.",
                data: [.init(name: "field", value: .string(stale.name))])
        }
        for one in echoed where !one.says(known[one.field.name] ?? .null) {
            throw Self.unchangeable(one.name, at: endpoint)
        }
        for member in unknown {
            guard let value = known[member.name] else { throw refusal(of: member.name, at: endpoint) }
            guard member.value.saysTheSame(as: value) else { throw Self.unchangeable(member.name, at: endpoint) }
        }
    }

    /// An error of ours in the document's names, as the request spells them.
    func renamed(_ error: ProtocolError) -> ProtocolError {
        // What the request itself calls so is named as it should be.
        guard let ours = error.field, !given.contains(where: { $0.name == ours }),
            !unknown.contains(where: { $0.name == ours })
        else { return error }
        let name =
            given.first { $0.field.param == ours }?.name ?? table.fields.first { $0.param == ours }?.name
        guard let name, name != ours else { return error }
        let data = error.data.map { $0.name == "field" ? .init(name: "field", value: .string(name)) : $0 }
        // A message may name a param without its path.
        let last = ours.split(separator: ".").last.map(String.init) ?? ours
        let message = [ours, last].reduce(error.message) { $0.replacing("\"\($1)\"", with: "\"\(name)\"") }
        return ProtocolError(error.code, message, data: data)
    }
}
