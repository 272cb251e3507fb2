package import FoundationEssentials
import Foundations

/// The texts of mails, by language.
///
/// An operator's file replaces any of them: `{"de": {"reset_password_subject": "…", …}, …}`. `{app}`, `{link}` and
/// `{token}` are placeholders. Mails contain nothing that a user wrote.
package struct MailTexts: Sendable {
    /// The texts, by lower-case language tag.
    private var byLocale: [String: Texts] = Self.builtIn

    /// The built-in texts.
    package init() {}

    /// - Parameter file: JSON with language tags, and the replaced texts of each.
    /// - Throws: `MailError`, which names the error.
    package init(replacedBy file: Data) throws {
        guard let given = try? JSONDecoder().decode([String: [String: String]].self, from: file) else {
            throw MailError("must be a JSON object of languages, each an object of texts.")
        }
        for (locale, texts) in given {
            var known = self.texts(for: locale)
            for (name, text) in texts {
                guard let place = Self.places[name] else {
                    throw MailError(
                        "has an unknown text \"\(locale).\(name)\"; the texts are "
                            + "\(Self.places.keys.sorted().joined(separator: ", ")).")
                }
                try Self.check(text, "\(locale).\(name)", place)
                known[place.kind]?[keyPath: place.part] = text
            }
            byLocale[locale.lowercased()] = known
        }
    }

    private static func check(_ text: String, _ name: String, _ place: Place) throws {
        let isSubject = place.part == \MailText.subject
        let placeholders = place.kind.hasToken && !isSubject ? ["{app}", "{link}", "{token}"] : ["{app}"]
        guard Template.hasOnly(placeholders, in: text) else {
            throw MailError("has an unknown placeholder in \"\(name)\"; use \(placeholders.joined(separator: ", ")).")
        }
        if text.isEmpty || isSubject && text.contains(where: \.isNewline) {
            throw MailError("has an invalid text \"\(name)\": it must \(isSubject ? "be one line" : "not be empty").")
        }
        if place.kind.hasToken, !isSubject, !text.contains("{link}"), !text.contains("{token}") {
            throw MailError("has a text \"\(name)\" without {link} or {token}; the mail needs one of them.")
        }
    }

    typealias Texts = [MailOrder.Kind: MailText]

    private struct Place: Sendable {
        let kind: MailOrder.Kind
        let part: any WritableKeyPath<MailText, String> & Sendable
    }

    /// The texts' names in a file.
    private static let places: [String: Place] = {
        var places: [String: Place] = [:]
        for kind in MailOrder.Kind.allCases {
            places["\(kind.rawValue)_subject"] = Place(kind: kind, part: \.subject)
            places["\(kind.rawValue)_text"] = Place(kind: kind, part: \.body)
        }
        return places
    }()

    private func texts(for locale: String?) -> Texts {
        Template.texts(for: locale, of: byLocale) ?? [:]
    }

    /// Returns the text of a mail.
    ///
    /// - Parameters:
    ///   - app: the sender.
    ///   - link: the link, or nil.
    func text(of order: MailOrder, app: String, link: String?) -> MailText {
        let text = texts(for: order.locale)[order.kind] ?? MailText(subject: "", body: "")
        let places = [("{app}", app), ("{link}", link ?? ""), ("{token}", order.token ?? "")]
        func filled(_ template: String) -> String { Template.filled(template, with: places) }
        return MailText(subject: filled(text.subject), body: filled(text.body))
    }
}

/// The text of a kind of mail.
struct MailText: Sendable, Equatable {
    var subject: String
    var body: String
}
