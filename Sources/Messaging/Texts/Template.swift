/// Texts of an operator's, in which placeholders such as `{app}` stand for what they say.
package enum Template {
    /// Whether each brace that opens in a text begins one of these placeholders.
    package static func hasOnly(_ placeholders: [String], in text: String) -> Bool {
        var rest = text[...]
        while let open = rest.firstIndex(of: "{") {
            let after = rest[open...]
            guard let placeholder = placeholders.first(where: { after.hasPrefix($0) }) else { return false }
            rest = after.dropFirst(placeholder.count)
        }
        return true
    }

    /// A text with what its placeholders stand for, in one pass: what stands for one is no template.
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

    /// Of texts by language tags in lower case, those of the longest that begins this tag (RFC 4647, 3.4), else English.
    package static func texts<Texts>(for locale: String?, of byLocale: [String: Texts]) -> Texts? {
        var tag = (locale ?? "en").lowercased().replacing("_", with: "-")
        while true {
            if let texts = byLocale[tag] { return texts }
            guard let end = tag.lastIndex(of: "-") else { return byLocale["en"] }
            tag = String(tag[..<end])
        }
    }
}
