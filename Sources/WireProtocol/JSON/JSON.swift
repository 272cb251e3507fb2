/// A JSON value (RFC 8259).
///
/// It preserves what was written: the text of numbers, and the order and all members of objects, including duplicates.
/// Equality compares code points: composed and decomposed forms of a character differ.
package enum JSON: Sendable {
    case null
    case bool(Bool)
    case number(JSONNumber)
    case string(String)
    case array([JSON])
    case object(JSONObject)
}

extension JSON: Equatable {
    package static func == (left: JSON, right: JSON) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.bool(let left), .bool(let right)): left == right
        case (.number(let left), .number(let right)): left == right
        case (.string(let left), .string(let right)): left.hasSameCodePoints(as: right)
        case (.array(let left), .array(let right)): left == right
        case (.object(let left), .object(let right)): left == right
        case (.null, _), (.bool, _), (.number, _), (.string, _), (.array, _), (.object, _): false
        }
    }
}

extension JSON {
    /// An integer as a JSON number.
    package static func integer(_ value: some BinaryInteger) -> JSON { .number(JSONNumber(value)) }

    /// The first duplicate member name of an object in this value or below it.
    ///
    /// PostgreSQL's `jsonb` would silently keep the last duplicate.
    package var duplicate: String? {
        switch self {
        case .null, .bool, .number, .string:
            return nil
        case .array(let elements):
            for element in elements {
                if let duplicate = element.duplicate { return duplicate }
            }
            return nil
        case .object(let object):
            if let duplicate = object.duplicate { return duplicate }
            for member in object.members {
                if let duplicate = member.value.duplicate { return duplicate }
            }
            return nil
        }
    }
}

extension String {
    /// Compares code points. `==` would treat canonically equivalent forms as equal (U+212A and `K`), in quadratic
    /// time.
    package func hasSameCodePoints(as other: String) -> Bool {
        utf8.count == other.utf8.count && utf8.elementsEqual(other.utf8)
    }
}
