import WireProtocol

/// The mapping of a compatibility endpoint's field to the protocol.
struct FieldMapping: Sendable {
    /// The endpoint's name of the field.
    let name: String

    /// The member of the protocol's object that has the field's value.
    let member: String

    /// The protocol's param that the field sets. A nested param has a path (`avatar.avatar_url`).
    let param: String

    /// Other names of the field in requests.
    let aliases: [String]

    let use: Use
    let format: Format

    /// True if responses show the field only to the user it belongs to.
    let isPrivate: Bool

    enum Use: Sendable {
        /// The field appears in requests and responses.
        case both
        /// The field appears in responses only.
        case response
        /// The field appears in requests only.
        case request
    }

    enum Format: Sendable {
        case unchanged
        /// A time with this number of fractional digits, of the protocol's six.
        case time(digits: Int)
        /// The first name of a full name.
        case firstName
        /// A full name without its first name.
        case lastName
        /// An empty string in a request means null.
        case emptyIsNull
        /// An integer in a query.
        case digits
    }

    /// - Parameter param: the protocol's param, if its name differs from the member's.
    init(
        _ name: String, _ member: String, param: String? = nil, aliases: [String] = [], _ use: Use = .both,
        as format: Format = .unchanged, isPrivate: Bool = false
    ) {
        self.name = name
        self.member = member
        self.param = param ?? member
        self.aliases = aliases
        self.use = use
        self.format = format
        self.isPrivate = isPrivate
    }

    /// Creates a field that has the same name in the protocol.
    init(_ name: String, _ use: Use = .both, as format: Format = .unchanged, isPrivate: Bool = false) {
        self.init(name, name, use, as: format, isPrivate: isPrivate)
    }

    func matches(_ name: String) -> Bool { self.name == name || aliases.contains(name) }
}

/// The mapping of an endpoint's object to an object of the protocol.
struct ObjectMapping: Sendable {
    let fields: [FieldMapping]

    /// Converts an object of the protocol to the endpoint's names. Fields without a value are null.
    func encode(_ object: JSONObject) -> JSONObject {
        JSONObject(
            fields.filter { $0.use != .request }.map { field in
                .init(name: field.name, value: field.format.encode(object[field.member] ?? .null, of: object))
            })
    }
}

extension FieldMapping.Format {
    /// Converts a value of the protocol to the endpoint's format.
    fileprivate func encode(_ value: JSON, of object: JSONObject) -> JSON {
        guard case .string(let text) = value else { return value }
        switch self {
        case .unchanged, .emptyIsNull, .digits: return value
        case .time(let digits):
            // 2026-11-20T10:00:00.000000Z
            guard text.utf8.count == 27 else { return value }
            return .string(text.prefix(digits == 0 ? 19 : 20 + digits) + "Z")
        case .firstName: return .string(object.nameParts(of: text).first)
        case .lastName: return .string(object.nameParts(of: text).last)
        }
    }

    /// Converts a request's value to the protocol's format.
    func decode(_ value: JSON) -> JSON {
        guard case .string(let text) = value else { return value }
        switch self {
        case .emptyIsNull: return text.isEmpty ? .null : value
        case .digits: return Int64(text).map { .integer($0) } ?? value
        case .unchanged, .time, .firstName, .lastName: return value
        }
    }
}

extension JSONObject {
    /// Splits the full name of a profile at `first_name_length`, or else at the first space.
    ///
    /// The length is in code points, as PostgreSQL counts them.
    fileprivate func nameParts(of name: String) -> (first: String, last: String) {
        let scalars = name.unicodeScalars
        let end =
            if case .number(let length)? = self["first_name_length"], let length = length.integer {
                scalars.index(scalars.startIndex, offsetBy: Int(clamping: length), limitedBy: scalars.endIndex)
                    ?? scalars.endIndex
            } else {
                scalars.firstIndex(of: " ") ?? scalars.endIndex
            }
        let rest = scalars[end...]
        return (String(scalars[..<end]), String(rest.first == " " ? rest.dropFirst() : rest))
    }
}
