@testable import DatabaseAccess
@testable import Foundations
import Testing

@Suite("PostgreSQL array text")
struct ArrayTextTests {
    @Test(
        "parses the elements in order",
        arguments: [
            ("{}", []), ("{1}", ["1"]), ("{a,b,c}", ["a", "b", "c"]), ("{NULL,2}", ["NULL", "2"]),
            ("", []), ("{", []), ("{,}", [""]), ("{ü,é}", ["ü", "é"]),
        ] as [(String, [String])])
    func elements(text: String, elements: [String]) {
        #expect(ArrayText(Array(text.utf8)).map { String(decoding: $0, as: UTF8.self) } == elements)
    }

    @Test("parses ids and skips other elements")
    func ids() {
        let ids = (0..<1_000).map { _ in ID.random() }
        let text = "{\(ids.map(\.description).joined(separator: ","))}"
        #expect(ArrayText(Array(text.utf8)).compactMap { ID(utf8: $0) } == ids)
        let odd = "{\(ids[0]),NULL,\(ids[1].description.dropLast()),\(ids[2].description.uppercased()),\(ids[3])0}"
        #expect(ArrayText(Array(odd.utf8)).compactMap { ID(utf8: $0) } == [ids[0], ids[2]])
    }

    @Test(
        "parses decimal numbers within bounds",
        arguments: [
            ("0", 0), ("-1", -1), ("9223372036854775807", .max), ("-9223372036854775808", .min),
            ("9223372036854775808", nil), ("-9223372036854775809", nil), ("18446744073709551617", nil), ("", nil),
            ("-", nil), ("+1", nil), ("1 ", nil), ("0x1", nil), ("NULL", nil), ("007", 7),
        ] as [(String, Int64?)])
    func numbers(text: String, number: Int64?) {
        #expect(Int64(utf8: Array(text.utf8)) == number)
    }

    @Test("parses packed ids")
    func packed() throws {
        let ids = (0..<1_000).map { _ in ID.random() }
        #expect(try #require([ID](packed: Array(packed(ids).utf8))) == ids)
        #expect(try #require([ID](packed: Array("000000000000000000000b86".utf8))) == [])
    }

    @Test("rejects incomplete or invalid packed ids")
    func unpacked() {
        let two = packed([ID.random(), ID.random()])
        for length in 0..<two.utf8.count {
            #expect([ID](packed: Array(two.utf8.prefix(length))) == nil, "\(length)")
        }
        let odd = [
            two + "00", two.replacing("00000010", with: "ffffffff"), two.replacing("00000002", with: "ffffffff"),
            "0000000200000000" + two.dropFirst(16), two.replacing("00000010", with: "0000001g"), "\\x" + two,
        ]
        for text in odd { #expect([ID](packed: Array(text.utf8)) == nil, "\(text)") }
    }

    private func packed(_ ids: [ID]) -> String {
        let count = String(ids.count, radix: 16)
        return "000000010000000000000b86" + String(repeating: "0", count: 8 - count.count) + count + "00000001"
            + ids.map { "00000010" + $0.description.replacing("-", with: "") }.joined()
    }
}
