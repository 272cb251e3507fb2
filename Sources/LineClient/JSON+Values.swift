public import Messaging

extension JSON {
    /// The string, where the value is one.
    public var stringValue: String? {
        guard case .string(let value) = self else { return nil }
        return value
    }

    /// The integer, where the value is one that fits.
    public var integerValue: Int? {
        guard case .number(let number) = self, let value = number.integer else { return nil }
        return Int(exactly: value)
    }

    /// The number, where the value is one.
    public var doubleValue: Double? {
        guard case .number(let number) = self else { return nil }
        return number.double
    }

    /// True or false, where the value is one of them.
    public var booleanValue: Bool? {
        guard case .bool(let value) = self else { return nil }
        return value
    }

    /// The elements, where the value is an array.
    public var arrayValue: [JSON]? {
        guard case .array(let elements) = self else { return nil }
        return elements
    }

    /// The members, where the value is an object.
    public var objectValue: JSONObject? {
        guard case .object(let members) = self else { return nil }
        return members
    }

    /// A member of an object; nil where the value is none, or has none of this name.
    public subscript(name: String) -> JSON? { objectValue?[name] }

    /// An element of an array; nil where the value is none, or is shorter.
    public subscript(index: Int) -> JSON? {
        guard case .array(let elements) = self, elements.indices.contains(index) else { return nil }
        return elements[index]
    }
}
