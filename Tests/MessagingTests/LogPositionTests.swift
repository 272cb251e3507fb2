@testable import ChangeFeed
import Testing

@Suite("WAL position")
struct LogPositionTests {
    @Test("orders positions across both halves of their text")
    func order() throws {
        let texts = ["0/0", "0/9", "0/A", "0/FFFFFFFF", "1/0", "A/1", "16/B374D848", "FFFFFFFF/FFFFFFFF"]
        let positions = texts.compactMap { LogPosition($0) }
        #expect(positions.count == texts.count)
        #expect(positions == positions.sorted())
        #expect(zip(positions, positions.dropFirst()).allSatisfy { $0 < $1 })
    }

    @Test("rejects any other text", arguments: ["", "/", "0", "0/", "/0", "0/0/0", "G/0", "100000000/0", "-1/0"])
    func malformed(text: String) {
        #expect(LogPosition(text) == nil)
    }
}
