/// The params of a request, held against their declarations and read by name.
///
/// Every failure is `invalid_params` and names the param in `data.field`.
struct Params: Sendable {
    private let object: JSONObject

    /// What the method takes.
    private let parameters: [Parameter]
    private let alternatives: Alternatives?

    /// Refuses what no method takes: a param of another name, one that stands twice, a NUL in a string; and the same of
    /// the members of a param that is an object of fields.
    ///
    /// A NUL is refused here because PostgreSQL's `text` cannot hold one, and libpq would cut the string at it.
    init(_ object: JSONObject, of operation: Operation) throws(ProtocolError) {
        try Self.checkNames(of: object, as: operation.parameters, in: nil, of: operation)
        for member in object.members {
            if member.value.containsNUL { throw .invalid(member.name, "must not contain a NUL character") }
            if case .object(let fields) = member.value, let declared = operation.members(of: member.name) {
                try Self.checkNames(of: fields, as: declared, in: member.name, of: operation)
            }
        }
        self.object = object
        parameters = operation.parameters
        alternatives = operation.alternatives
    }

    /// Holds each value against its declaration, in the order of declaration. What is read before is as it was given.
    ///
    func check() throws(ProtocolError) {
        for index in parameters.indices { try parameters[index].check(in: object, path: "") }
        try alternatives?.check(in: object)
    }

    /// - Parameter parent: the param that this object is; nil where it is the params.
    private static func checkNames(
        of object: JSONObject, as parameters: [Parameter], in parent: String?, of operation: Operation
    ) throws(ProtocolError) {
        if let twice = object.duplicate { throw .invalid(path(in: parent) + shown(twice), "is given twice") }
        for member in object.members where !parameters.contains(member.name) {
            throw unknown(member.name, in: parent, of: operation)
        }
    }

    private static func unknown(_ name: String, in parent: String?, of operation: Operation) -> ProtocolError {
        let path = Self.path(in: parent)
        let shown = path + Self.shown(name)
        return .unknownField(
            shown, of: "\"\(operation.method)\"",
            meant: Suggestion.parameter(for: name, in: parent, of: operation),
            among: operation.names(in: parent).map { path + $0 })
    }

    /// What stands before the names of an object's members; nothing before those of the params.
    static func path(in parent: String?) -> String { parent.map { "\($0)." } ?? "" }

    /// A name that a client made up, as an error shows it.
    static func shown(_ name: String) -> String {
        name.utf8.count <= 64 && !name.utf8.contains(0) ? name : String(name.unicodeScalars.prefix(60)) + "…"
    }
}

/// How operations read what ``check()`` has let pass: of the declared type, or nil where it is absent, null, or another.
extension Params {
    /// The value of that param, or else what is declared to count.
    private func value(of name: String) -> JSON? {
        assert(parameters.contains(name), "\(name) is not declared")
        switch object[name] {
        case nil, .null: return parameters.index(of: name).flatMap { parameters[$0].standard }
        case let given?: return given
        }
    }

    /// Whether there is a value, null included.
    func isGiven(_ name: String) -> Bool { object[name] != nil }

    func string(_ name: String) -> String? {
        guard case .string(let text)? = value(of: name) else { return nil }
        return text
    }

    /// A string that must be there.
    func required(_ name: String) throws(ProtocolError) -> String {
        guard let text = string(name) else { throw .invalid(name, "is missing") }
        return text
    }

    /// The email address in the one spelling that the database and the limits know: A to Z in small letters. Letters
    /// beyond ASCII stay as they are, since a Kelvin sign is no "k" to a mail server.
    func requiredEmail() throws(ProtocolError) -> String {
        try required("email").lowercasedASCII
    }

    func integer(_ name: String) -> Int64? {
        guard case .number(let number)? = value(of: name) else { return nil }
        return number.integer
    }

    /// An integer as PostgreSQL reads it.
    func digits(_ name: String) -> String? { integer(name).map { String($0) } }

    func bool(_ name: String) -> Bool {
        guard case .bool(let value)? = value(of: name) else { return false }
        return value
    }

    /// A UUID in the protocol's form, lower case.
    func uuid(_ name: String) -> String? { id(name)?.description }

    func id(_ name: String) -> ID? { string(name).flatMap { ID($0) } }

    /// A list of UUIDs as PostgreSQL's array text.
    /// The number of elements of a list; 0 where it was not given.
    func count(_ name: String) -> Int {
        guard case .array(let elements)? = value(of: name) else { return 0 }
        return elements.count
    }

    func uuids(_ name: String) -> String? {
        guard case .array(let elements)? = value(of: name) else { return nil }
        let ids = elements.compactMap { element -> String? in
            guard case .string(let text) = element else { return nil }
            return ID(text)?.description
        }
        return "{\(ids.joined(separator: ","))}"
    }

    func object(_ name: String) -> JSONObject? {
        guard case .object(let members)? = value(of: name) else { return nil }
        return members
    }

    /// The params as one object, for functions that take a patch: an absent member stays absent, null stays null.
    func patch(without name: String) -> JSONObject {
        JSONObject(object.members.filter { $0.name != name })
    }
}

extension ProtocolError {
    /// `invalid_params` that names the param: `"limit" must be 1 to 50.`
    static func invalid(_ field: String, _ what: String) -> ProtocolError {
        ProtocolError(.invalidParams, "\"\(field)\" \(what).", data: [.init(name: "field", value: .string(field))])
    }
}

extension JSON {
    /// Whether a NUL stands in any string or name of this value.
    var containsNUL: Bool {
        switch self {
        case .null, .bool, .number: false
        case .string(let text): text.utf8.contains(0)
        case .array(let elements): elements.contains { $0.containsNUL }
        case .object(let object): object.members.contains { $0.name.utf8.contains(0) || $0.value.containsNUL }
        }
    }
}

extension StringProtocol {
    /// The text with A to Z in small letters and all else as it is, which is how names in HTTP are compared: to
    /// `lowercased()` the Kelvin sign is a k.
    package var lowercasedASCII: String {
        let capitals = UInt8(ascii: "A")...UInt8(ascii: "Z")
        return String(decoding: utf8.map { capitals.contains($0) ? $0 | 0x20 : $0 }, as: UTF8.self)
    }
}
