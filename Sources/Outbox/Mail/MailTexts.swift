package import FoundationEssentials
import Foundations

/// The texts of mails, by language. `{app}`, `{link}` and `{token}` are placeholders. Mails contain nothing that a user
/// wrote.
package struct MailTexts: Sendable {
    private var texts = LocalizedTexts(Self.builtIn)

    /// The built-in texts.
    package init() {}

    /// - Parameter file: JSON with language tags, and the replaced texts of each.
    /// - Throws: `OutboxError`, which names the error.
    package init(replacedBy file: Data) throws {
        try texts.replace(by: file, Self.places) { text, name, place, known throws(OutboxError) in
            try Self.check(text, name, place)
            known[place.kind]?[keyPath: place.part] = text
        }
    }

    private static func check(_ text: String, _ name: String, _ place: Place) throws(OutboxError) {
        let isSubject = place.part == \MailText.subject
        let placeholders = place.kind.hasToken && !isSubject ? ["{app}", "{link}", "{token}"] : ["{app}"]
        guard Template.hasOnly(placeholders, in: text) else {
            throw OutboxError("has an unknown placeholder in \"\(name)\"; use \(placeholders.joined(separator: ", ")).")
        }
        if text.isEmpty || isSubject && text.contains(where: \.isNewline) {
            throw OutboxError("has an invalid text \"\(name)\": it must \(isSubject ? "be one line" : "not be empty").")
        }
        if place.kind.hasToken, !isSubject, !text.contains("{link}"), !text.contains("{token}") {
            throw OutboxError("has a text \"\(name)\" without {link} or {token}; the mail needs one of them.")
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

    /// Returns the text of a mail.
    ///
    /// - Parameters:
    ///   - app: the sender.
    ///   - link: the link, or nil.
    func text(of order: MailOrder, app: String, link: String?) -> MailText {
        let text = texts.texts(for: order.locale)?[order.kind] ?? MailText(subject: "", body: "")
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
