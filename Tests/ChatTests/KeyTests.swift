import Foundations
import Testing

@testable import Chat

@Suite("Key parser and input line")
struct KeyTests {
    private func keys(_ text: String) -> [Key] {
        var parser = KeyParser()
        return parser.take(text.utf8)
    }

    @Test("distinguishes letters, keys and escape sequences")
    func kinds() {
        #expect(keys("aé日") == [.text("a"), .text("é"), .text("日")])
        #expect(keys("\u{1B}[A\u{1B}[B\u{1B}OC\u{1B}[D") == [.up, .down, .right, .left])
        #expect(keys("\u{1B}[5~\u{1B}[6~\u{1B}[3~\u{1B}[1;5C") == [.pageUp, .pageDown, .delete, .wordRight])
        #expect(keys("\r\u{7F}\t\u{3}\u{4}") == [.enter, .backspace, .tab, .interrupt, .delete])
        #expect(keys("\u{1B}[Z\u{1B}1\u{1B}9\u{1B}0") == [.backTab, .number(1), .number(9)])
        #expect(keys("\u{1B}") == [.escape])
        #expect(keys("\u{1B}\r") == [.newLine])
        #expect(keys("\u{1B}[99X") == [])
    }

    @Test("parses pasted text as one text, without executing its keys")
    func paste() {
        #expect(keys("\u{1B}[200~one\r\ntwo\rthree\u{3}\u{1B}[201~x") == [.paste("one\ntwo\nthree\u{3}"), .text("x")])
    }

    @Test("parses input split anywhere except after an escape")
    func cuts() {
        let bytes = Array("a日\u{1B}[1;5Cb\u{1B}[200~pasted\u{1B}[201~\u{1B}[A".utf8)
        let whole = keys("a日\u{1B}[1;5Cb\u{1B}[200~pasted\u{1B}[201~\u{1B}[A")
        for cut in 1..<bytes.count where bytes[cut - 1] != 0x1B {
            var parser = KeyParser()
            #expect(parser.take(bytes[..<cut]) + parser.take(bytes[cut...]) == whole)
        }
    }

    @Test("moves and deletes by whole characters")
    func editor() {
        var editor = LineEditor()
        for key in keys("héllo 👩‍👩‍👧") { #expect(editor.handle(key) == true) }
        #expect(editor.characters.count == 7)
        _ = editor.handle(.backspace)
        #expect(editor.text == "héllo ")
        _ = editor.handle(.deleteWord)
        #expect(editor.text == "")
        for key in keys("two words") { _ = editor.handle(key) }
        _ = editor.handle(.wordLeft)
        _ = editor.handle(.text("!"))
        _ = editor.handle(.deleteToEnd)
        #expect(editor.text == "two !")
        _ = editor.handle(.home)
        _ = editor.handle(.delete)
        #expect(editor.take() == "wo !")
        #expect(editor.isEmpty)
    }

    @Test("breaks rows at line ends and after spaces, and moves the cursor by row")
    func rows() {
        var editor = LineEditor()
        _ = editor.handle(.paste("the quick brown fox\nand 日本語日本語日本\n"))
        let layout = editor.layout(width: 10)
        #expect(layout.rows == ["the quick ", "brown fox", "and ", "日本語日本", "語日本", ""])
        #expect(layout.cursor == (5, 0))
        #expect(editor.moveRow(by: 1, width: 10) == false)
        for row in [4, 3, 2, 1, 0] {
            #expect(editor.moveRow(by: -1, width: 10) == true)
            #expect(editor.layout(width: 10).cursor == (row, 0))
        }
        #expect(editor.moveRow(by: -1, width: 10) == false)
        _ = editor.handle(.end)
        #expect(editor.layout(width: 10).cursor == (1, 9))
        _ = editor.moveRow(by: -1, width: 10)
        #expect(editor.layout(width: 10).cursor == (0, 9))
        _ = editor.moveRow(by: 1, width: 10)
        _ = editor.moveRow(by: 1, width: 10)
        #expect(editor.layout(width: 10).cursor == (2, 3))
        _ = editor.moveRow(by: 1, width: 10)
        #expect(editor.layout(width: 10).cursor == (3, 2))
        _ = editor.handle(.home)
        #expect(editor.layout(width: 10).cursor == (2, 0))
    }

    @Test("limits the width of rows without losing text")
    func rowsOfAnyWidth() {
        var editor = LineEditor()
        let text = "some words, 日本語 and averyveryverylongone   with  blanks 日本日本"
        _ = editor.handle(.paste(text))
        for width in 2...30 {
            let rows = editor.layout(width: width).rows
            #expect(rows.allSatisfy { TextWidth.of($0) <= width } && rows.joined() == text)
        }
    }

    @Test("keeps the cursor in a window of limited width")
    func window() {
        var editor = LineEditor()
        _ = editor.handle(.paste(String(repeating: "日", count: 30) + "\u{1B}end"))
        for _ in 0..<33 {
            for width in [5, 8, 40] {
                let window = editor.window(width: width)
                #expect(TextWidth.of(window.text) <= width)
                #expect(window.cursor < width)
                #expect(!window.text.contains("\u{1B}"))
            }
            _ = editor.handle(.left)
        }
        #expect(editor.window(width: 8).text.hasPrefix("日"))
    }
}
