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

    @Test("can be replaced for each kind")
    func replaced() throws {
        let file = Data(#"{"de": {"voice": "Eine Nachricht zum Hören"}}"#.utf8)
        let text = try PushTexts(replacedBy: file).text(of: .message("", kind: "voice", by: "Ann", in: nil))
        #expect(text?.body == "Eine Nachricht zum Hören")
    }
}
