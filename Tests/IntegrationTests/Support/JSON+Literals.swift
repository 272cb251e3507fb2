import NIOCore
import WireProtocol

// Lets requests be written as literals. Null has none, since `== nil` would change its meaning.
extension JSON: ExpressibleByStringLiteral, ExpressibleByStringInterpolation {
    init(stringLiteral value: String) { self = .string(value) }
}

extension JSON: ExpressibleByUnicodeScalarLiteral, ExpressibleByExtendedGraphemeClusterLiteral {}

extension JSON: ExpressibleByIntegerLiteral {
    init(integerLiteral value: Int) { self = .integer(value) }
}

extension JSON: ExpressibleByFloatLiteral {
    init(floatLiteral value: Double) { self = (try? JSON(parsing: ByteBuffer(string: "\(value)"))) ?? .null }
}

extension JSON: ExpressibleByBooleanLiteral {
    init(booleanLiteral value: Bool) { self = .bool(value) }
}

extension JSON: ExpressibleByArrayLiteral {
    init(arrayLiteral elements: JSON...) { self = .array(elements) }
}

extension JSON: ExpressibleByDictionaryLiteral {
    init(dictionaryLiteral elements: (String, JSON)...) {
        self = .object(JSONObject(elements.map { JSONObject.Member(name: $0.0, value: $0.1) }))
    }
}

extension JSON {
    /// The members' names in their order.
    var names: [String] {
        guard case .object(let object) = self else { return [] }
        return object.members.map(\.name)
    }

    /// Returns the object without some members.
    func without(_ names: String...) -> JSON {
        guard case .object(let object) = self else { return self }
        return .object(JSONObject(object.members.filter { !names.contains($0.name) }))
    }
}
