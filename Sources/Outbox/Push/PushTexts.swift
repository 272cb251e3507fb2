package import FoundationEssentials
import Foundations

/// The texts of device pushes, by language.
///
/// An operator's file replaces any of them: `{"de": {"image": "Ein Foto", …}, …}`. `{sender}`, `{group}` and
/// `{content}` are placeholders.
package struct PushTexts: Sendable {
    /// The texts, by lower-case language tag.
    private var byLocale: [String: Texts] = Self.builtIn

    /// The built-in texts.
    package init() {}

    /// - Parameter file: JSON with language tags, and the replaced texts of each.
    /// - Throws: `PushError`, which names the error.
    package init(replacedBy file: Data) throws {
        guard let given = try? JSONDecoder().decode([String: [String: String]].self, from: file) else {
            throw PushError("must be a JSON object of languages, each an object of texts.")
        }
        for (locale, texts) in given {
            var known = self.texts(for: locale)
            for (name, text) in texts {
                guard let place = Texts.places[name] else {
                    throw PushError(
                        "has an unknown text \"\(locale).\(name)\"; the texts are "
                            + "\(Texts.places.keys.sorted().joined(separator: ", ")).")
                }
                try Self.check(text, "\(locale).\(name)")
                known[keyPath: place] = text
            }
            byLocale[locale.lowercased()] = known
        }
    }

    private static func check(_ text: String, _ name: String) throws {
        guard Template.hasOnly(["{sender}", "{group}", "{content}"], in: text) else {
            throw PushError("has an unknown placeholder in \"\(name)\"; use {sender}, {group}, {content}.")
        }
    }

    private struct Texts: Sendable {
        var directTitle = "{sender}"
        var groupTitle = "{sender} · {group}"
        var body = "{content}"
        /// The text for a picture without a text.
        var image: String
        /// The name of a user without a name.
        var somebody: String

        static var places: [String: any WritableKeyPath<Texts, String> & Sendable] {
            [
                "direct_title": \.directTitle, "group_title": \.groupTitle, "body": \.body, "image": \.image,
                "somebody": \.somebody,
            ]
        }
    }

    private static let builtIn: [String: Texts] = [
        "en": Texts(image: "Picture", somebody: "Somebody"),
        "de": Texts(image: "Bild", somebody: "Jemand"),
        "es": Texts(image: "Imagen", somebody: "Alguien"),
        "fr": Texts(image: "Image", somebody: "Quelqu’un"),
        "it": Texts(image: "Immagine", somebody: "Qualcuno"),
        "ja": Texts(image: "画像", somebody: "だれか"),
        "ko": Texts(image: "사진", somebody: "누군가"),
        "nl": Texts(image: "Afbeelding", somebody: "Iemand"),
        "pl": Texts(image: "Zdjęcie", somebody: "Ktoś"),
        "pt": Texts(image: "Imagem", somebody: "Alguém"),
        "tr": Texts(image: "Resim", somebody: "Biri"),
        "uk": Texts(image: "Зображення", somebody: "Хтось"),
        "zh": Texts(image: "图片", somebody: "某人"),
    ]

    private func texts(for locale: String?) -> Texts {
        Template.texts(for: locale, of: byLocale) ?? Texts(image: "", somebody: "")
    }

    /// Returns the text of a push, or nil for a silent one.
    func text(of order: PushOrder) -> DevicePush.Text? {
        guard order.kind == .notify else { return nil }
        let texts = texts(for: order.device.locale)
        let sender = order.senderName ?? texts.somebody
        let content = order.content.map { $0.isEmpty && order.isImage ? texts.image : $0 }
        let places = [("{sender}", sender), ("{group}", order.title ?? ""), ("{content}", content ?? "")]
        func filled(_ template: String) -> String { Template.filled(template, with: places) }
        return DevicePush.Text(
            title: filled(order.title == nil ? texts.directTitle : texts.groupTitle).shortened(to: 200),
            body: content.map { _ in filled(texts.body).shortened(to: 1_000) })
    }
}
