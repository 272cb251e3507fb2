/// The params of a request, read by name and type.
///
/// Every failure is `invalid_params` and names the param in `data.field`.
struct Params: Sendable {
    private let object: JSONObject

    /// What stands before a name in an error: of the members of an object, its own name and a point.
    private let path: String

    private init(_ object: JSONObject, path: String) {
        self.object = object
        self.path = path
    }

    /// Refuses what no method takes: a param of another name, one that stands twice, a NUL in a string; and the same of
    /// the members of a param that is an object of fields.
    ///
    /// A NUL is refused here because PostgreSQL's `text` cannot hold one, and libpq would cut the string at it.
    init(_ object: JSONObject, of operation: Operation) throws(ProtocolError) {
        try Self.check(object, of: operation)
        for member in object.members {
            if member.value.containsNUL { throw .invalid(member.name, "must not contain a NUL character") }
            if operation.members[member.name] != nil, case .object(let fields) = member.value {
                try Self.check(fields, in: member.name, of: operation)
            }
        }
        self.init(object, path: "")
    }

    /// - Parameter parent: the param that this object is; nil where it is the params.
    private static func check(
        _ object: JSONObject, in parent: String? = nil, of operation: Operation
    ) throws(ProtocolError) {
        let path = Self.path(in: parent)
        if let twice = object.duplicate { throw .invalid(path + Self.shown(twice), "is given twice") }
        let names = operation.names(in: parent)
        for member in object.members where !names.contains(member.name) {
            throw unknown(member.name, in: parent, of: operation)
        }
    }

    /// The params as one JSON text, for functions that take a patch: an absent member stays absent, null stays null.
    func patch(_ names: [String]) -> String {
        JSON.object(JSONObject(object.members.filter { names.contains($0.name) })).text
    }

    private static func unknown(_ name: String, in parent: String?, of operation: Operation) -> ProtocolError {
        let path = Self.path(in: parent)
        let shown = path + Self.shown(name)
        let refusal = "\"\(operation.method)\" takes no \"\(shown)\""
        let field = JSONObject.Member(name: "field", value: .string(shown))
        if let suggestion = Suggestion.parameter(for: name, in: parent, of: operation) {
            let place = suggestion.method.map { " of \"\($0)\"" } ?? ""
            let method = suggestion.method.map { [JSONObject.Member(name: "method", value: .string($0))] } ?? []
            return ProtocolError(
                .invalidParams, "\(refusal): did you mean \"\(suggestion.name)\"\(place)?",
                data: [field, .init(name: "suggestion", value: .string(suggestion.name))] + method)
        }
        let names = operation.names(in: parent).map { "\"\(path)\($0)\"" }.joined(separator: ", ")
        let taken = names.isEmpty ? "It takes no params." : "It takes \(names)."
        return ProtocolError(.invalidParams, "\(refusal). \(taken)", data: [field])
    }

    /// What stands before the names of an object's members; nothing before those of the params.
    static func path(in parent: String?) -> String { parent.map { "\($0)." } ?? "" }

    private func invalid(_ name: String, _ what: String) -> ProtocolError { .invalid(path + name, what) }

    /// A name that a client made up, as an error shows it.
    private static func shown(_ name: String) -> String {
        name.utf8.count <= 64 && !name.utf8.contains(0) ? name : String(name.unicodeScalars.prefix(60)) + "…"
    }
}

extension Params {
    /// A string param; nil where it is absent or null.
    func string(_ name: String, bytes limits: ClosedRange<Int>? = nil) throws(ProtocolError) -> String? {
        switch object[name] {
        case nil, .null: return nil
        case .string(let value):
            if let limits, !limits.contains(value.utf8.count) {
                let least = limits.lowerBound == 0 ? "at most" : "\(limits.lowerBound) to"
                throw invalid(name, "must be \(least) \(limits.upperBound) bytes long")
            }
            return value
        default: throw invalid(name, "must be a string")
        }
    }

    /// A string param that must be there.
    func requiredString(_ name: String) throws(ProtocolError) -> String {
        try required(name) { name throws(ProtocolError) in try string(name) }
    }

    /// A string of so many Unicode code points; nil where it is absent or null.
    func string(_ name: String, characters limits: ClosedRange<Int>) throws(ProtocolError) -> String? {
        guard let value = try string(name) else { return nil }
        if !limits.contains(value.unicodeScalars.count) {
            throw invalid(name, "must be \(limits.lowerBound) to \(limits.upperBound) characters long")
        }
        return value
    }

    /// An integer param as PostgreSQL reads it; nil where it is absent or null.
    func integer(_ name: String, in limits: ClosedRange<Int64>) throws(ProtocolError) -> Int64? {
        switch object[name] {
        case nil, .null: return nil
        case .number(let number):
            guard let value = number.integer else { throw invalid(name, "must be an integer") }
            guard limits.contains(value) else {
                throw invalid(
                    name,
                    limits.upperBound == .max
                        ? "must be \(limits.lowerBound) or more"
                        : "must be \(limits.lowerBound) to \(limits.upperBound)")
            }
            return value
        default: throw invalid(name, "must be an integer")
        }
    }

    /// Holds a number param, fractions included, against its limits; one that is absent or null passes.
    func requireNumber(_ name: String, in limits: ClosedRange<Double>) throws(ProtocolError) {
        switch object[name] {
        case nil, .null: break
        case .number(let number):
            if number.hasTooManyDigits { throw invalid(name, "has too many digits") }
            guard let value = number.double, limits.contains(value) else {
                throw invalid(name, "must be \(Int(limits.lowerBound)) to \(Int(limits.upperBound))")
            }
        default: throw invalid(name, "must be a number")
        }
    }

    func bool(_ name: String) throws(ProtocolError) -> Bool? {
        switch object[name] {
        case nil, .null: return nil
        case .bool(let value): return value
        default: throw invalid(name, "must be true or false")
        }
    }

    /// A UUID in the protocol's form, lower case; nil where it is absent or null.
    func uuid(_ name: String) throws(ProtocolError) -> String? {
        switch object[name] {
        case nil, .null: return nil
        case .string(let text):
            guard let id = ID(text) else { throw invalid(name, "must be a UUID") }
            return id.description
        default: throw invalid(name, "must be a UUID")
        }
    }

    /// A list of UUIDs as PostgreSQL's array text; nil where it is absent or null.
    func uuids(_ name: String, count limits: ClosedRange<Int>) throws(ProtocolError) -> String? {
        switch object[name] {
        case nil, .null: return nil
        case .array(let elements):
            guard limits.contains(elements.count) else {
                throw invalid(name, "must hold \(limits.lowerBound) to \(limits.upperBound) UUIDs")
            }
            var ids: [String] = []
            for element in elements {
                guard case .string(let text) = element, let id = ID(text) else {
                    throw invalid(name, "must hold UUIDs only")
                }
                ids.append(id.description)
            }
            return "{\(ids.joined(separator: ","))}"
        default: throw invalid(name, "must be a list of UUIDs")
        }
    }

    /// An object param as JSON text; nil where it is absent or null.
    func object(_ name: String) throws(ProtocolError) -> String? {
        switch object[name] {
        case nil, .null: return nil
        case .object(let value):
            if let twice = JSON.object(value).duplicate {
                throw invalid(name, "has the member \"\(Self.shown(twice))\" twice")
            }
            if JSON.object(value).hasUnboundedNumber {
                throw invalid(name, "has a number that is out of range")
            }
            return JSON.object(value).text
        default: throw invalid(name, "must be an object")
        }
    }

    /// The members of a param that is an object of fields; nil where it is absent. Null is no object.
    func fields(_ name: String) throws(ProtocolError) -> Params? {
        switch object[name] {
        case nil: return nil
        case .object(let fields): return Params(fields, path: Self.path(in: path + name))
        default: throw invalid(name, "must be an object")
        }
    }

    /// Refuses a param that is absent; one that is null is there.
    func requirePresent(_ name: String) throws(ProtocolError) {
        if object[name] == nil { throw invalid(name, "is missing") }
    }

    /// The value of a param that must be there.
    func required<Value>(
        _ name: String, _ read: (String) throws(ProtocolError) -> Value?
    ) throws(ProtocolError) -> Value {
        guard let value = try read(name) else { throw invalid(name, "is missing") }
        return value
    }
}

extension ProtocolError {
    /// `invalid_params` that names the param: `"limit" must be 1 to 50.`
    static func invalid(_ field: String, _ what: String) -> ProtocolError {
        ProtocolError(.invalidParams, "\"\(field)\" \(what).", data: [.init(name: "field", value: .string(field))])
    }
}

extension JSONNumber {
    /// Whether it is written with more digits than any use has. PostgreSQL's `numeric` takes more than these.
    fileprivate var hasTooManyDigits: Bool { text.utf8.count > 400 }
}

extension JSON {
    /// Whether a number stands anywhere in this value that no double comes near, and perhaps not even PostgreSQL's `jsonb`
    /// can hold: too large, too small, or written with more digits than any use has.
    var hasUnboundedNumber: Bool {
        switch self {
        case .null, .bool, .string: false
        case .number(let number):
            number.hasTooManyDigits || number.double == nil || number.double == 0 && number.integer != 0
        case .array(let elements): elements.contains { $0.hasUnboundedNumber }
        case .object(let object): object.members.contains { $0.value.hasUnboundedNumber }
        }
    }

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
