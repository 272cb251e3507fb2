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
        var video: String
        var voice: String
        var audio: String
        var file: String
        /// The name of a user without a name.
        var somebody: String

        static var places: [String: any WritableKeyPath<Texts, String> & Sendable] {
            [
                "direct_title": \.directTitle, "group_title": \.groupTitle, "body": \.body, "image": \.image,
                "video": \.video, "voice": \.voice, "audio": \.audio, "file": \.file, "somebody": \.somebody,
            ]
        }

        /// Returns the text for a message without a text; empty for one of an app's own kind.
        func placeholder(for messageKind: String) -> String {
            switch messageKind {
            case "image": image
            case "video": video
            case "voice": voice
            case "audio": audio
            case "file": file
            default: ""
            }
        }
    }

    private static let builtIn: [String: Texts] = [
        "en": Texts(
            image: "Picture", video: "Video", voice: "Voice message", audio: "Audio", file: "File",
            somebody: "Somebody"),
        "de": Texts(
            image: "Bild", video: "Video", voice: "Sprachnachricht", audio: "Audio", file: "Datei",
            somebody: "Jemand"),
        "es": Texts(
            image: "Imagen", video: "Vídeo", voice: "Mensaje de voz", audio: "Audio", file: "Archivo",
            somebody: "Alguien"),
        "fr": Texts(
            image: "Image", video: "Vidéo", voice: "Message vocal", audio: "Audio", file: "Fichier",
            somebody: "Quelqu’un"),
        "it": Texts(
            image: "Immagine", video: "Video", voice: "Messaggio vocale", audio: "Audio", file: "File",
            somebody: "Qualcuno"),
        "ja": Texts(
            image: "画像", video: "動画", voice: "ボイスメッセージ", audio: "音声", file: "ファイル",
            somebody: "だれか"),
        "ko": Texts(
            image: "사진", video: "동영상", voice: "음성 메시지", audio: "오디오", file: "파일",
            somebody: "누군가"),
        "nl": Texts(
            image: "Afbeelding", video: "Video", voice: "Spraakbericht", audio: "Audio", file: "Bestand",
            somebody: "Iemand"),
        "pl": Texts(
            image: "Zdjęcie", video: "Wideo", voice: "Wiadomość głosowa", audio: "Dźwięk", file: "Plik",
            somebody: "Ktoś"),
        "pt": Texts(
            image: "Imagem", video: "Vídeo", voice: "Mensagem de voz", audio: "Áudio", file: "Arquivo",
            somebody: "Alguém"),
        "tr": Texts(
            image: "Resim", video: "Video", voice: "Sesli mesaj", audio: "Ses", file: "Dosya",
            somebody: "Biri"),
        "uk": Texts(
            image: "Зображення", video: "Відео", voice: "Голосове повідомлення", audio: "Аудіо", file: "Файл",
            somebody: "Хтось"),
        "zh": Texts(
            image: "图片", video: "视频", voice: "语音消息", audio: "音频", file: "文件",
            somebody: "某人"),
    ]

    /// Returns the text of a push, or nil for a silent one.
    func text(of order: PushOrder) -> DevicePush.Text? {
        guard order.kind == .notify, let texts = texts.texts(for: order.device.locale) else { return nil }
        let sender = order.senderName ?? texts.somebody
        let content = order.content.map { $0.isEmpty ? texts.placeholder(for: order.messageKind) : $0 }
        let places = [("{sender}", sender), ("{group}", order.title ?? ""), ("{content}", content ?? "")]
        func filled(_ template: String) -> String { Template.filled(template, with: places) }
        return DevicePush.Text(
            title: filled(order.title == nil ? texts.directTitle : texts.groupTitle).shortened(to: 200),
            body: content.map { _ in filled(texts.body).shortened(to: 1_000) })
    }
}
