import Foundations
import TestSupport
import Testing

@testable import Chat
@testable import Postline

@Suite("Avatars in a terminal")
struct AvatarTests {
    private let catalogue = [BuiltInAvatar(id: "fox", name: "Fox", color: "#e4572e")]

    private func chip(_ avatar: Avatar?, _ name: String = "Bob Brown", id: User.ID = Fixture.bob) -> AvatarChip {
        AvatarChip(avatar, name: name, id: id, catalogue: catalogue)
    }

    @Test("draws a built-in avatar in its catalogue color", .covers("C17"))
    func builtIn() {
        let span = chip(.builtIn(id: "fox")).span
        #expect(span.text == " B " && span.style.fill == RGB(0xE4, 0x57, 0x2E))
    }

    @Test("draws custom, unknown and missing avatars in a fixed color of the user", .covers("C17"))
    func stable() {
        let none = chip(nil)
        #expect(chip(Fixture.person().avatar) == none)
        #expect(chip(.custom(url: "https://example.com/a.png")) == none)
        #expect(chip(.builtIn(id: "unknown")) == none)
        #expect(chip(nil, "Bert") == none)
        #expect(none.span.style.fill == nil && none.span.style.color != nil)
        let colors = (0..<50).map { AvatarChip.color(of: User.ID("user \($0)")).rawValue }
        #expect(Set(colors).count == 5)
    }

    @Test(
        "uses the name's first letter or digit as the initial", .covers("C17"),
        arguments: [
            ("alice", "A"), ("(guest)", "G"), ("  étienne", "É"), ("ßen", "S"), ("日本", "日"), ("7th", "7"), ("!?", "?"),
            ("\u{1B}[2Jx", "2"), ("", "?"), ("👩‍👩‍👧 family", "F"),
        ])
    func initial(name: String, initial: String) {
        #expect(AvatarChip.initial(of: name) == initial)
        #expect(TextWidth.of(chip(nil, name).span.text) == 3)
    }

    @Test("encodes the colors that the terminal supports")
    func depth() {
        var line = StyledLine()
        line.append(chip(.builtIn(id: "fox")))
        #expect(line.encoded(.none) == " B ")
        #expect(line.encoded(.monochrome) == "\u{1B}[1;7m B \u{1B}[0m")
        #expect(line.encoded(.indexed) == "\u{1B}[1;48;5;166;38;5;231m B \u{1B}[0m")
        #expect(line.encoded(.full) == "\u{1B}[1;48;2;228;87;46;38;5;231m B \u{1B}[0m")
    }

    @Test("parses only hexadecimal colors")
    func hex() {
        #expect(RGB(hex: "#0a0b0c") == RGB(10, 11, 12))
        for text in ["", "#fff", "e4572e0", "#e4572g", "#-12345", "#e4572e\n"] { #expect(RGB(hex: text) == nil) }
    }

    @Test("maps to the nearest of 256 colors, including grays")
    func indexed() {
        #expect(RGB(0, 0, 0).indexed == 16)
        #expect(RGB(255, 255, 255).indexed == 231)
        #expect(RGB(0x3A, 0x3A, 0x3A).indexed == 237)
        #expect(RGB(255, 0, 0).indexed == 196)
    }
}
