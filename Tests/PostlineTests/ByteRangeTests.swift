import HTTPServing
import Testing

@Suite("Byte ranges")
struct ByteRangeTests {
    @Test(
        "selects the part that a request asks for (RFC 9110, section 14.1.2)",
        arguments: [
            ("bytes=0-499", ByteRange.part(0..<500)), ("bytes=500-999", .part(500..<1_000)),
            ("bytes=-500", .part(9_500..<10_000)), ("bytes=9500-", .part(9_500..<10_000)),
            ("bytes=0-0", .part(0..<1)), ("bytes=-20000", .part(0..<10_000)),
            ("bytes=9999-20000", .part(9_999..<10_000)),
            ("bytes=10000-", .unsatisfiable), ("bytes=-0", .unsatisfiable),
            ("bytes=99999999999999999999-", .unsatisfiable), ("bytes=0-99999999999999999999", .part(0..<10_000)),
            ("bytes=5-4", .whole), ("bytes=", .whole), ("bytes=-", .whole), ("bytes", .whole), ("", .whole),
            ("bytes=0-1,3-4", .whole), ("items=0-1", .whole), ("bytes=0x1-2", .whole), ("bytes=٣-4", .whole),
        ])
    func ranges(_ field: String, _ range: ByteRange) {
        #expect(ByteRange([field], ifRange: [], of: 10_000, tag: #""a""#) == range)
    }

    @Test("applies a range only to the same content, and only one")
    func conditions() {
        func range(_ fields: [String], _ condition: [String]) -> ByteRange {
            ByteRange(fields, ifRange: condition, of: 10, tag: #""a""#)
        }
        #expect(range(["bytes=1-2"], [#""a""#]) == .part(1..<3))
        for condition in [[#""b""#], [#"W/"a""#], ["Wed, 21 Oct 2015 07:28:00 GMT"], [#""a""#, #""a""#]] {
            #expect(range(["bytes=1-2"], condition) == .whole)
        }
        #expect(range(["bytes=1-2", "bytes=1-2"], []) == .whole && range([], []) == .whole)
        #expect(ByteRange(["bytes=-1"], ifRange: [], of: 0, tag: "") == .unsatisfiable)
    }
}
