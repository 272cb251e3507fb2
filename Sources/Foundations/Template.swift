/// An operator's texts with placeholders such as `{app}`.
package enum Template {
    /// Returns true if every opening brace in a text begins one of these placeholders.
    package static func hasOnly(_ placeholders: [String], in text: String) -> Bool {
        var rest = text[...]
        while let open = rest.firstIndex(of: "{") {
            let after = rest[open...]
            guard let placeholder = placeholders.first(where: { after.hasPrefix($0) }) else { return false }
            rest = after.dropFirst(placeholder.count)
        }
        return true
    }

    /// Returns a text with its placeholders replaced in one pass; replacements are not expanded again.
    package static func filled(_ template: String, with places: [(placeholder: String, value: String)]) -> String {
        var filled = ""
        var rest = template[...]
        while let open = rest.firstIndex(of: "{") {
            filled += rest[..<open]
            rest = rest[open...]
            let (placeholder, value) = places.first { rest.hasPrefix($0.placeholder) } ?? ("{", "{")
            filled += value
            rest = rest.dropFirst(placeholder.count)
        }
        return filled + rest
    }
}
