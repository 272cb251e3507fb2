package import WireProtocol

extension JSON {
    /// The string, or nil for another type.
    package var stringValue: String? {
        guard case .string(let value) = self else { return nil }
        return value
    }

    /// The integer, or nil for another type or a number out of range.
    package var integerValue: Int? {
        guard case .number(let number) = self, let value = number.integer else { return nil }
        return Int(exactly: value)
    }

    /// The number, or nil for another type.
    package var doubleValue: Double? {
        guard case .number(let number) = self else { return nil }
        return number.double
    }

    /// The boolean, or nil for another type.
    package var booleanValue: Bool? {
        guard case .bool(let value) = self else { return nil }
        return value
    }

    /// The elements of an array, or nil for another type.
    package var arrayValue: [JSON]? {
        guard case .array(let elements) = self else { return nil }
        return elements
    }

    /// The members of an object, or nil for another type.
    package var objectValue: JSONObject? {
        guard case .object(let members) = self else { return nil }
        return members
    }

    /// The member of an object with this name, or nil if there is none.
    package subscript(name: String) -> JSON? { objectValue?[name] }

    /// The element of an array at this index, or nil if there is none.
    package subscript(index: Int) -> JSON? {
        guard case .array(let elements) = self, elements.indices.contains(index) else { return nil }
        return elements[index]
    }
}
