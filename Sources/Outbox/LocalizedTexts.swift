import FoundationEssentials
import Foundations

/// The texts of mails or device pushes, by language.
///
/// An operator's file replaces any of them: `{"de": {"image": "Ein Foto", …}, …}`.
struct LocalizedTexts<Texts: Sendable>: Sendable {
    /// The texts, by lower-case language tag.
    private var byLocale: [String: Texts]

    init(_ builtIn: [String: Texts]) { byLocale = builtIn }

    /// Returns the texts of the longest matching language tag (RFC 4647, 3.4), otherwise English.
    func texts(for locale: String?) -> Texts? {
        var tag = (locale ?? "en").lowercased().replacing("_", with: "-")
        while true {
            if let texts = byLocale[tag] { return texts }
            guard let end = tag.lastIndex(of: "-") else { return byLocale["en"] }
            tag = String(tag[..<end])
        }
    }

    /// Replaces texts by those of an operator's file.
    ///
    /// - Parameters:
    ///   - file: JSON with language tags, and the replaced texts of each.
    ///   - places: the places of the texts, by their names in the file.
    ///   - set: checks a text, whose name in errors is `de.image`, and sets it.
    /// - Throws: `OutboxError`, which names the error.
    mutating func replace<Place>(
        by file: Data, _ places: [String: Place],
        _ set: (_ text: String, _ name: String, Place, inout Texts) throws(OutboxError) -> Void
    ) throws(OutboxError) {
        guard let given = try? JSONDecoder().decode([String: [String: String]].self, from: file) else {
            throw OutboxError("must be a JSON object of languages, each an object of texts.")
        }
        for (locale, replacements) in given {
            guard var known = texts(for: locale) else { continue }
            for (name, text) in replacements {
                guard let place = places[name] else {
                    throw OutboxError(
                        "has an unknown text \"\(locale).\(name)\"; the texts are "
                            + "\(places.keys.sorted().joined(separator: ", ")).")
                }
                try set(text, "\(locale).\(name)", place, &known)
            }
            byLocale[locale.lowercased()] = known
        }
    }
}
