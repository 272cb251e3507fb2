import Logging
import Testing

@testable import Commands

@Suite("Log lines")
struct LogLinesTests {
    @Test("quotes values of several words, and escapes line breaks")
    func lines() {
        let line = LogLines.line(
            at: "2026-11-21T10:00:00.000000Z", .warning, "two\nlines\u{1B}[31m",
            [
                "reason": "it said \"no\"\nand left", "count": "3", "empty": "", "peer": "2001:db8::1", "pair": "a=b",
                "list": ["x", "y"],
            ])
        #expect(
            line
                == "2026-11-21T10:00:00.000000Z warning two lines [31m count=3 empty=\"\" list=\"[\\\"x\\\", \\\"y\\\"]\" "
                + "pair=\"a=b\" peer=2001:db8::1 reason=\"it said \\\"no\\\"\\nand left\"\n")
    }

    @Test("a logger's metadata is in each line; an event's own wins")
    func handler() {
        var handler = LogLines(.info)
        handler[metadataKey: "node"] = "a"
        var other = handler
        other[metadataKey: "node"] = "b"
        other.logLevel = .trace
        #expect(handler[metadataKey: "node"] == "a")
        #expect(handler.logLevel == .info)
    }
}
