import Foundations
import WireProtocol

/// The params of a request, checked against their declarations.
///
/// Every error is `invalid_params` with the param in `data.field`.
struct Params: Sendable {
    private let object: JSONObject

    /// The params of the method.
    private let parameters: [Parameter]
    private let alternatives: Alternatives?

    /// Rejects unknown and duplicate params and members, and strings with a NUL.
    ///
    /// PostgreSQL's `text` cannot contain a NUL, and libpq would cut the string at it.
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

    /// Checks each value against its declaration, in the order of declaration. Call it before reading values.
    func check() throws(ProtocolError) {
        for index in parameters.indices { try parameters[index].check(in: object, path: "") }
        try alternatives?.check(in: object)
    }

    /// - Parameter parent: the param whose value the object is, or nil for the params themselves.
    private static func checkNames(
        of object: JSONObject, as parameters: [Parameter], in parent: String?, of operation: Operation
    ) throws(ProtocolError) {
        if let duplicate = object.duplicate {
            throw .invalid(path(in: parent) + abbreviated(duplicate), "is given twice")
        }
        for member in object.members where !parameters.contains(member.name) {
            throw unknown(member.name, in: parent, of: operation)
        }
    }

    private static func unknown(_ name: String, in parent: String?, of operation: Operation) -> ProtocolError {
        let path = Self.path(in: parent)
        return .unknownField(
            path + abbreviated(name), of: "\"\(operation.method)\"",
            meant: Suggestion.parameter(for: name, in: parent, of: operation),
            among: operation.names(in: parent).map { path + $0 })
    }

    /// Returns the prefix of the names of an object's members: empty for the params themselves.
    static func path(in parent: String?) -> String { parent.map { "\($0)." } ?? "" }

    /// Returns a client's name for an error message, cut if it is long or contains a NUL.
    static func abbreviated(_ name: String) -> String {
        name.utf8.count <= 64 && !name.utf8.contains(0) ? name : String(name.unicodeScalars.prefix(60)) + "…"
    }
}

/// Access to checked params. Each accessor returns nil if the param is absent, null, or of another type.
extension Params {
    /// Returns the value of a param, or its default value.
    private func value(of name: String) -> JSON? {
        assert(parameters.contains(name), "\(name) is not declared")
        switch object[name] {
        case nil, .null: return parameters.index(of: name).flatMap { parameters[$0].defaultValue }
        case let given?: return given
        }
    }

    /// Returns true if the param is present, even if it is null.
    func isGiven(_ name: String) -> Bool { object[name] != nil }

    func string(_ name: String) -> String? {
        guard case .string(let text)? = value(of: name) else { return nil }
        return text
    }

    /// Returns a required string.
    func required(_ name: String) throws(ProtocolError) -> String {
        guard let text = string(name) else { throw .invalid(name, "is missing") }
        return text
    }

    /// Returns the email address with A to Z in lower case, the spelling in the database and in rate limits. Other
    /// letters are kept, since to a mail server a Kelvin sign is not a "k".
    func requiredEmail() throws(ProtocolError) -> String {
        try required("email").lowercasedASCII
    }

    func integer(_ name: String) -> Int64? {
        guard case .number(let number)? = value(of: name) else { return nil }
        return number.integer
    }

    /// Returns an integer as PostgreSQL text.
    func digits(_ name: String) -> String? { integer(name).map { String($0) } }

    func bool(_ name: String) -> Bool {
        guard case .bool(let value)? = value(of: name) else { return false }
        return value
    }

    /// Returns a Boolean as PostgreSQL text, or nil if it is absent.
    func optionalBool(_ name: String) -> String? {
        guard case .bool(let value)? = value(of: name) else { return nil }
        return String(value)
    }

    /// Returns a UUID in lower case.
    func uuid(_ name: String) -> String? { id(name)?.description }

    func id(_ name: String) -> ID? { string(name).flatMap { ID($0) } }

    /// Returns the number of elements of a list, or 0 if it is absent.
    func count(_ name: String) -> Int {
        guard case .array(let elements)? = value(of: name) else { return 0 }
        return elements.count
    }

    /// Returns a list of UUIDs as a PostgreSQL array literal.
    func uuids(_ name: String) -> String? {
        guard case .array(let elements)? = value(of: name) else { return nil }
        let ids = elements.compactMap { element -> ID? in
            guard case .string(let text) = element else { return nil }
            return ID(text)
        }
        return ids.plainArrayLiteral { $0 }
    }

    /// Returns a list of objects.
    func objects(_ name: String) -> [JSONObject]? {
        guard case .array(let elements)? = value(of: name) else { return nil }
        return elements.compactMap { element in
            guard case .object(let object) = element else { return nil }
            return object
        }
    }

    func object(_ name: String) -> JSONObject? {
        guard case .object(let members)? = value(of: name) else { return nil }
        return members
    }

    /// Returns the params without one as an object, for functions that take a patch. Absent members stay absent, and
    /// nulls stay null.
    func patch(without name: String) -> JSONObject {
        JSONObject(object.members.filter { $0.name != name })
    }
}
