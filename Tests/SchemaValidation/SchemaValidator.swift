import Foundations
package import WireProtocol

/// Validates values against schema objects of an OpenAPI 3.0 document.
///
/// Unknown keywords of a schema are flaws, so that nothing is left unchecked.
package struct SchemaValidator: Sendable {
    /// The document, which contains the referenced schemas.
    package let document: JSON

    package init(_ document: JSON) { self.document = document }

    /// Returns the flaws of a value with their paths, or none.
    ///
    /// - Parameter closed: True if an object may only have the members of its schema, even if that allows others.
    package func flaws(of value: JSON, against schema: JSON, closed: Bool = false, at path: String = "$") -> [String] {
        guard let schema = schema.object else { return ["\(path): a schema is an object"] }
        let known = flaws(of: value, against: schema, closed: closed, at: path)
        return known
            + schema.members.filter { !Self.keywords.contains($0.name) }.map {
                "\(path): the validator does not know \($0.name)"
            }
    }

    /// Returns the value at a path of the document, or nil.
    package func element(_ path: String...) -> JSON? {
        path.reduce(document as JSON?) { $0?.object?[$1] }
    }

    /// Returns the request schema of a method.
    package func request(of method: String) -> JSON? {
        element("paths", "/v1/\(method)", "post", "requestBody", "content", "application/json", "schema")
    }

    /// Returns the result schema of a method.
    package func result(of method: String) -> JSON? {
        element("paths", "/v1/\(method)", "post", "responses", "200", "content", "application/json", "schema")
    }

    private static let keywords: Set<String> = [
        "$ref", "allOf", "anyOf", "oneOf", "type", "nullable", "enum", "properties", "required",
        "additionalProperties", "items", "minItems", "maxItems", "minLength", "maxLength", "pattern", "x-pattern",
        "minimum", "maximum", "format", "description", "default",
    ]

    private func flaws(of value: JSON, against schema: JSONObject, closed: Bool, at path: String) -> [String] {
        var flaws: [String] = []
        if let reference = schema["$ref"]?.text { flaws += follow(reference, value, closed, path) }
        if let type = schema["type"]?.text, !value.isOf(type), value != .null || schema["nullable"] != .bool(true) {
            return flaws + ["\(path): \(value.summary) is no \(type)"]
        }
        if let choices = schema["enum"]?.elements, !choices.contains(value) {
            flaws.append("\(path): \(value.summary) is none of those that it may be")
        }
        flaws += combined(value, schema, closed, path)
        switch value {
        case .object(let object): flaws += members(of: object, schema, closed, path)
        case .array(let elements): flaws += self.elements(elements, schema, closed, path)
        case .string(let text): flaws += Self.text(text, schema, path)
        case .number(let number): flaws += Self.number(number, schema, path)
        case .null, .bool: break
        }
        return flaws
    }

    private func follow(_ reference: String, _ value: JSON, _ closed: Bool, _ path: String) -> [String] {
        let target = reference.split(separator: "/").dropFirst().reduce(document as JSON?) { $0?.object?[String($1)] }
        guard let target else { return ["\(path): there is no \(reference)"] }
        return flaws(of: value, against: target, closed: closed, at: path)
    }

    /// Returns the flaws by subschemas of the same value. Of alternatives only the whole one names all members.
    private func combined(_ value: JSON, _ schema: JSONObject, _ closed: Bool, _ path: String) -> [String] {
        func holds(_ part: JSON, closed: Bool = false) -> Bool {
            self.flaws(of: value, against: part, closed: closed, at: path).isEmpty
        }
        var flaws: [String] = []
        if let any = schema["anyOf"]?.elements, !any.contains(where: { holds($0, closed: closed) }) {
            flaws.append("\(path): is none of the alternatives")
            flaws += any.flatMap { self.flaws(of: value, against: $0, closed: closed, at: path) }
        }
        if let one = schema["oneOf"]?.elements, one.count(where: { holds($0) }) != 1 {
            flaws.append("\(path): is not just one of the alternatives")
        }
        return flaws + (schema["allOf"]?.elements ?? []).flatMap { self.flaws(of: value, against: $0, at: path) }
    }

    private func members(of object: JSONObject, _ schema: JSONObject, _ closed: Bool, _ path: String) -> [String] {
        var flaws = (schema["required"]?.elements ?? []).compactMap(\.text).filter { object[$0] == nil }.map {
            "\(path): \($0) is missing"
        }
        if let twice = object.duplicate { flaws.append("\(path): \(twice) is a duplicate") }
        let properties = schema["properties"]?.object
        let isClosed = schema["additionalProperties"] == .bool(false) || closed && properties != nil
        for member in object.members {
            if let property = properties?[member.name] {
                flaws += self.flaws(
                    of: member.value, against: property, closed: closed, at: "\(path).\(member.name)")
            } else if isClosed {
                flaws.append("\(path): \(member.name) is not declared")
            }
        }
        return flaws
    }

    private func elements(_ elements: [JSON], _ schema: JSONObject, _ closed: Bool, _ path: String) -> [String] {
        var flaws: [String] = []
        if let least = schema["minItems"]?.count, elements.count < least { flaws.append("\(path): is too short") }
        if let most = schema["maxItems"]?.count, elements.count > most { flaws.append("\(path): is too long") }
        guard let items = schema["items"] else { return flaws }
        return flaws
            + elements.enumerated().flatMap {
                self.flaws(of: $0.element, against: items, closed: closed, at: "\(path)[\($0.offset)]")
            }
    }

    private static func text(_ text: String, _ schema: JSONObject, _ path: String) -> [String] {
        var flaws: [String] = []
        let length = text.unicodeScalars.count
        if let least = schema["minLength"]?.count, length < least { flaws.append("\(path): is too short") }
        if let most = schema["maxLength"]?.count, length > most { flaws.append("\(path): is too long") }
        for pattern in ["pattern", "x-pattern"].compactMap({ schema[$0]?.text })
        where (try? Regex(pattern).firstMatch(in: text)) == nil {
            flaws.append("\(path): \(JSON.string(text).summary) is not of the form \(pattern)")
        }
        // Other formats have a pattern, or are hints.
        if schema["format"] == .string("uuid"), ID(text) == nil { flaws.append("\(path): is no UUID") }
        return flaws
    }

    private static func number(_ number: JSONNumber, _ schema: JSONObject, _ path: String) -> [String] {
        guard let value = number.double else { return ["\(path): is out of any range"] }
        var flaws: [String] = []
        if let least = schema["minimum"]?.count, value < Double(least) { flaws.append("\(path): is too small") }
        if let most = schema["maximum"]?.count, value > Double(most) { flaws.append("\(path): is too large") }
        return flaws
    }
}

extension JSON {
    fileprivate var object: JSONObject? {
        guard case .object(let object) = self else { return nil }
        return object
    }

    fileprivate var elements: [JSON]? {
        guard case .array(let elements) = self else { return nil }
        return elements
    }

    fileprivate var text: String? {
        guard case .string(let text) = self else { return nil }
        return text
    }

    fileprivate var count: Int? {
        guard case .number(let number) = self else { return nil }
        return number.integer.flatMap { Int(exactly: $0) }
    }

    /// The beginning of the value, for a flaw's text.
    fileprivate var summary: String {
        switch self {
        case .string(let text): "\"\(text.prefix(40))\""
        case .object: "an object"
        case .array: "a list"
        case .number(let number): String(number.text.prefix(40))
        case .bool(let value): "\(value)"
        case .null: "null"
        }
    }

    fileprivate func isOf(_ type: String) -> Bool {
        switch (self, type) {
        case (.null, "null"), (.bool, "boolean"), (.number, "number"), (.string, "string"), (.array, "array"),
            (.object, "object"):
            true
        case (.number(let number), "integer"): number.isInteger
        default: false
        }
    }
}
