import Foundations
import Testing

@testable import Chat

@Suite("Terminal text")
struct TextTests {
    @Test("replaces control characters in other users' texts")
    func controls() {
        let hostile = "a\u{1B}[2Jb\u{07}\u{9B}31m\u{0}\u{7F}\rz\u{202E}x\u{2066}"
        let shown = PlainText.line(hostile)
        #expect(shown.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control })
        #expect(shown == "a␛[2Jb␇\u{FFFD}31m␀␡␊zx")
        #expect(StyledLine(hostile).encoded(.full) == shown)
        for value in UInt32(0)...0x9F where !(0x20...0x7E ~= value) {
            let scalar = Unicode.Scalar(value) ?? "x"
            #expect(!PlainText.line("\(scalar)").unicodeScalars.contains(scalar))
            #expect(PlainText.lines("\(scalar)").allSatisfy { !$0.unicodeScalars.contains(scalar) })
        }
    }

    @Test("splits messages at every kind of line end, but not other texts")
    func lineEnds() {
        #expect(PlainText.lines("a\nb\r\nc\rd\u{2028}e") == ["a", "b", "c", "d", "e"])
        #expect(PlainText.line("a\nb") == "a␊b")
    }

    @Test("leaves ordinary text of any language unchanged")
    func ordinary() {
        for text in ["Grüße", "こんにちは", "👩‍👩‍👧", "e\u{301}", "שלום"] { #expect(PlainText.line(text) == text) }
    }

    @Test(
        "counts wide, narrow and joined characters in cells",
        arguments: [("abc", 3), ("日本", 4), ("é", 1), ("e\u{301}", 1), ("👩‍👩‍👧", 2), ("❤️", 2), ("한글", 4), ("\u{200B}", 0)])
    func width(text: String, cells: Int) {
        #expect(TextWidth.of(text) == cells)
    }

    @Test("truncates or pads a text to its width")
    func truncate() {
        #expect(TextWidth.truncate("hello world", to: 6) == "hello…")
        #expect(TextWidth.truncate("日本語", to: 4) == "日…")
        #expect(TextWidth.fit("日", to: 4) == "日  ")
        #expect(TextWidth.fit("abc", to: 0) == "")
    }

    @Test("wraps between words, and within words longer than a line")
    func wrap() {
        #expect(TextWidth.wrap("the quick brown fox", to: 10) == ["the quick ", "brown fox"])
        #expect(TextWidth.wrap("abcdefghij", to: 4) == ["abcd", "efgh", "ij"])
        #expect(TextWidth.wrap("", to: 4) == [""])
        #expect(TextWidth.wrap("日本語", to: 4) == ["日本", "語"])
        for width in 1...12 {
            for line in TextWidth.wrap("some words, 日本語 and averyveryverylongone", to: width) where width > 1 {
                #expect(TextWidth.of(line) <= width)
            }
        }
    }

    @Test("escapes a file name uniquely, without path separators")
    func fileName() {
        #expect(ChatFolder.fileName("Alice.B+x@Example.com") == "alice.b+x@example.com")
        #expect(ChatFolder.fileName("../a/b") == "%2e.%2fa%2fb")
        #expect(ChatFolder.fileName("::1") == "%3a%3a1")
        #expect(ChatFolder.fileName("é%") == "%c3%a9%25")
    }
}
