package import FoundationEssentials
import Foundations

/// The texts of device pushes, by language. `{sender}`, `{group}`, `{content}` and `{emoji}` are placeholders.
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
        guard Template.hasOnly(["{sender}", "{group}", "{content}", "{emoji}"], in: text) else {
            throw OutboxError("has an unknown placeholder in \"\(name)\"; use {sender}, {group}, {content}, {emoji}.")
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
        /// The text for a reaction to the user's message, with the text of the message, and without.
        var reaction: String
        var hiddenReaction: String
        /// The name of a user without a name.
        var somebody: String

        static var places: [String: any WritableKeyPath<Texts, String> & Sendable] {
            [
                "direct_title": \.directTitle, "group_title": \.groupTitle, "body": \.body, "image": \.image,
                "video": \.video, "voice": \.voice, "audio": \.audio, "file": \.file, "reaction": \.reaction,
                "hidden_reaction": \.hiddenReaction, "somebody": \.somebody,
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
            reaction: "{emoji} to “{content}”", hiddenReaction: "Reacted to your message",
            somebody: "Somebody"),
        "de": Texts(
            image: "Bild", video: "Video", voice: "Sprachnachricht", audio: "Audio", file: "Datei",
            reaction: "{emoji} zu „{content}“", hiddenReaction: "Hat auf deine Nachricht reagiert",
            somebody: "Jemand"),
        "es": Texts(
            image: "Imagen", video: "Vídeo", voice: "Mensaje de voz", audio: "Audio", file: "Archivo",
            reaction: "{emoji} a «{content}»", hiddenReaction: "Ha reaccionado a tu mensaje",
            somebody: "Alguien"),
        "fr": Texts(
            image: "Image", video: "Vidéo", voice: "Message vocal", audio: "Audio", file: "Fichier",
            reaction: "{emoji} à « {content} »", hiddenReaction: "A réagi à votre message",
            somebody: "Quelqu’un"),
        "it": Texts(
            image: "Immagine", video: "Video", voice: "Messaggio vocale", audio: "Audio", file: "File",
            reaction: "{emoji} a «{content}»", hiddenReaction: "Ha reagito al tuo messaggio",
            somebody: "Qualcuno"),
        "ja": Texts(
            image: "画像", video: "動画", voice: "ボイスメッセージ", audio: "音声", file: "ファイル",
            reaction: "「{content}」に{emoji}", hiddenReaction: "メッセージにリアクションしました",
            somebody: "だれか"),
        "ko": Texts(
            image: "사진", video: "동영상", voice: "음성 메시지", audio: "오디오", file: "파일",
            reaction: "“{content}”에 {emoji}", hiddenReaction: "메시지에 반응을 남겼습니다",
            somebody: "누군가"),
        "nl": Texts(
            image: "Afbeelding", video: "Video", voice: "Spraakbericht", audio: "Audio", file: "Bestand",
            reaction: "{emoji} op ‘{content}’", hiddenReaction: "Heeft op je bericht gereageerd",
            somebody: "Iemand"),
        "pl": Texts(
            image: "Zdjęcie", video: "Wideo", voice: "Wiadomość głosowa", audio: "Dźwięk", file: "Plik",
            reaction: "{emoji} do „{content}”", hiddenReaction: "Reakcja na Twoją wiadomość",
            somebody: "Ktoś"),
        "pt": Texts(
            image: "Imagem", video: "Vídeo", voice: "Mensagem de voz", audio: "Áudio", file: "Arquivo",
            reaction: "{emoji} a “{content}”", hiddenReaction: "Reagiu à sua mensagem",
            somebody: "Alguém"),
        "tr": Texts(
            image: "Resim", video: "Video", voice: "Sesli mesaj", audio: "Ses", file: "Dosya",
            reaction: "“{content}” için {emoji}", hiddenReaction: "Mesajınıza tepki verdi",
            somebody: "Biri"),
        "uk": Texts(
            image: "Зображення", video: "Відео", voice: "Голосове повідомлення", audio: "Аудіо", file: "Файл",
            reaction: "{emoji} на «{content}»", hiddenReaction: "Реакція на ваше повідомлення",
            somebody: "Хтось"),
        "zh": Texts(
            image: "图片", video: "视频", voice: "语音消息", audio: "音频", file: "文件",
            reaction: "{emoji} 回应了“{content}”", hiddenReaction: "回应了你的消息",
            somebody: "某人"),
    ]

    /// Returns the text of a push, or nil for a silent one.
    func text(of order: PushOrder) -> DevicePush.Text? {
        guard order.kind != .read, let texts = texts.texts(for: order.device.locale) else { return nil }
        let sender = order.senderName ?? texts.somebody
        let content = order.content.map { $0.isEmpty ? texts.placeholder(for: order.messageKind) : $0 }
        let body: String? =
            if order.kind == .reaction {
                content == nil ? texts.hiddenReaction : texts.reaction
            } else {
                content.map { _ in texts.body }
            }
        let places = [
            ("{sender}", sender), ("{group}", order.title ?? ""), ("{content}", content ?? ""),
            ("{emoji}", order.emoji ?? ""),
        ]
        func filled(_ template: String) -> String { Template.filled(template, with: places) }
        return DevicePush.Text(
            title: filled(order.title == nil ? texts.directTitle : texts.groupTitle).shortened(to: 200),
            body: body.map { filled($0).shortened(to: 1_000) })
    }
}
