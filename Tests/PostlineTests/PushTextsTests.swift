import Foundation
import Testing
@testable import Outbox

@Suite("Push texts")
struct PushTextsTests {
    private static func body(_ kind: String, _ content: String?, _ locale: String = "de") -> String? {
        PushTexts().text(of: .message(content, kind: kind, by: "Ann", in: nil, locale: locale))?.body
    }

    @Test(
        "name a message without a text by its kind",
        arguments: [
            ("image", "Bild"), ("video", "Video"), ("voice", "Sprachnachricht"), ("audio", "Audio"), ("file", "Datei"),
            ("text", ""), ("custom", ""), ("a_later_kind", ""),
        ])
    func kinds(_ kind: String, _ text: String) {
        #expect(Self.body(kind, "") == text)
        #expect(Self.body(kind, "a.pdf") == "a.pdf")
        #expect(Self.body(kind, nil) == nil)
    }

    @Test(
        "have every kind in every built-in language",
        arguments: ["en", "de", "es", "fr", "it", "ja", "ko", "nl", "pl", "pt", "tr", "uk", "zh"])
    func languages(_ locale: String) {
        let texts = ["image", "video", "voice", "audio", "file"].map { Self.body($0, "", locale) ?? "" }
        #expect(texts.allSatisfy { !$0.isEmpty } && Set(texts).count == 5)
        if locale != "en" {
            #expect(texts != ["image", "video", "voice", "audio", "file"].map { Self.body($0, "", "en") })
        }
    }

    @Test(
        "name a reaction and the message in every built-in language, and neither without previews",
        arguments: ["en", "de", "es", "fr", "it", "ja", "ko", "nl", "pl", "pt", "tr", "uk", "zh"])
    func reactions(_ locale: String) throws {
        func body(_ kind: String, _ content: String?) -> String? {
            let order = PushOrder.message(
                content, kind: kind, by: "Ann", in: nil, locale: locale, reaction: "👍")
            return PushTexts().text(of: order)?.body
        }
        let text = try #require(body("text", "A hike?"))
        #expect(text.contains("👍") && text.contains("A hike?") && !text.contains("{"))
        let picture = try #require(Self.body("image", "", locale))
        #expect(try #require(body("image", "")).contains(picture))
        let hidden = try #require(body("text", nil))
        #expect(!hidden.isEmpty && !hidden.contains("👍") && !hidden.contains("{"))
    }

    @Test("can be replaced for each kind")
    func replaced() throws {
        let file = Data(#"{"de": {"voice": "Eine Nachricht zum Hören", "reaction": "{sender}: {emoji}"}}"#.utf8)
        let texts = try PushTexts(replacedBy: file)
        let voice = texts.text(of: .message("", kind: "voice", by: "Ann", in: nil))
        #expect(voice?.body == "Eine Nachricht zum Hören")
        let reaction = texts.text(of: .message("hi", by: "Ann", in: nil, reaction: "👍"))
        #expect(reaction?.body == "Ann: 👍")
    }
}
