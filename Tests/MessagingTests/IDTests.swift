@testable import Foundations
import Testing

@Suite("ID")
struct IDTests {
    @Test("parses either case and writes lower case")
    func case_() {
        #expect(ID("0195F0AB-1234-4ABC-8DEF-0123456789AB")?.description == "0195f0ab-1234-4abc-8def-0123456789ab")
    }

    @Test("creates random UUIDs of version 4")
    func random() {
        let id = ID.random()
        let text = Array(id.description)
        #expect(text[14] == "4" && "89ab".contains(text[19]))
        #expect(ID(id.description) == id)
    }

    @Test(
        "rejects any other form",
        arguments: [
            "", "0195f0ab12344abc8def0123456789ab", "0195f0ab-1234-4abc-8def-0123456789a",
            "{0195f0ab-1234-4abc-8def-0123456789ab}",
            "0195f0ab-1234-4abc-8def-0123456789abc", "0195f0ag-1234-4abc-8def-0123456789ab",
            "0195f0ab-1234-4abc-8def-0123456789a\u{0}", "0195f0ab_1234_4abc_8def_0123456789ab",
        ])
    func malformed(text: String) {
        #expect(ID(text) == nil)
    }
}
