package import FoundationEssentials
import Foundations

/// The texts of device pushes, by language. `{sender}`, `{group}` and `{content}` are placeholders.
package struct PushTexts: Sendable {
    private var texts = LocalizedTexts(Self.builtIn)

    /// The built-in texts.
    package init() {}

    /// - Parameter file: JSON with language tags, and the replaced texts of each.
    /// - Throws: `OutboxError`, which names the error.
    package init(replacedBy file: Data) throws {
        try texts.replace(by: file, Texts.places) { text, name, place, known throws(OutboxError) in
            try Self.check(text, name)
            known[keyPath: place] = text
        }
    }

    private static func check(_ text: String, _ name: String) throws(OutboxError) {
        guard Template.hasOnly(["{sender}", "{group}", "{content}"], in: text) else {
            throw OutboxError("has an unknown placeholder in \"\(name)\"; use {sender}, {group}, {content}.")
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

    /// Returns the text of a push, or nil for a silent one.
    func text(of order: PushOrder) -> DevicePush.Text? {
        guard order.kind == .notify, let texts = texts.texts(for: order.device.locale) else { return nil }
        let sender = order.senderName ?? texts.somebody
        let content = order.content.map { $0.isEmpty && order.isImage ? texts.image : $0 }
        let places = [("{sender}", sender), ("{group}", order.title ?? ""), ("{content}", content ?? "")]
        func filled(_ template: String) -> String { Template.filled(template, with: places) }
        return DevicePush.Text(
            title: filled(order.title == nil ? texts.directTitle : texts.groupTitle).shortened(to: 200),
            body: content.map { _ in filled(texts.body).shortened(to: 1_000) })
    }
}
