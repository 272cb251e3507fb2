@testable import ChangeFeed
import Testing

@Suite("Snapshot")
struct SnapshotTests {
    @Test("contains exactly the transactions committed before it")
    func sees() throws {
        let snapshot = try #require(Snapshot("10:20:10,13,19"))
        #expect([1, 9, 11, 12, 14, 18].allSatisfy(snapshot.sees))
        #expect(![10, 13, 19, 20, 21, .max].contains(where: snapshot.sees))
    }

    @Test("covers earlier snapshots and itself")
    func covers() throws {
        let earlier = try #require(Snapshot("10:20:10,13"))
        let sameEnd = try #require(Snapshot("13:20:13"))
        let later = try #require(Snapshot("25:25:"))
        #expect(earlier.covers(earlier))
        #expect(sameEnd.covers(earlier) && !earlier.covers(sameEnd))
        #expect(later.covers(sameEnd) && !sameEnd.covers(later))
    }

    @Test("merges with another, in PostgreSQL's notation")
    func union() throws {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<500 {
            let (one, other) = try (Self.drawn(using: &random), Self.drawn(using: &random))
            let both = one.union(other)
            for xid in UInt64(1)..<60 {
                #expect(both.sees(xid) == (one.sees(xid) || other.sees(xid)), "\(one.text) and \(other.text): \(xid)")
            }
            #expect(both.covers(one) && both.covers(other))
            #expect(Snapshot(both.text) == both)
        }
    }

    private static func drawn(using random: inout some RandomNumberGenerator) throws -> Snapshot {
        let xmax = Int.random(in: 10...50, using: &random)
        let open = (Int.random(in: 5...xmax, using: &random)..<xmax).filter { _ in Bool.random(using: &random) }
        let list = open.map(String.init).joined(separator: ",")
        return try #require(Snapshot("\(open.first ?? xmax):\(xmax):\(list)"))
    }

    @Test(
        "rejects malformed text",
        arguments: [
            "", "1", "1:2", "2:1:", "0:1:", "a:2:", "1:5:7", "1:5:3,2", "1:5:,", "1:5:2,", "1:5:2:3", "-1:5:", "+1:5:",
            "1:5:+2", "1: 5:", "1:9223372036854775808:", "9223372036854775808:9223372036854775808:",
            "1:18446744073709551616:", "5:4294967296:", "4294967296:4294967297:",
            "01:5:", "1:05:", "1:5:02", "1:5:2,03", "00:5:", "1:00000000000000000000000000000005:",
        ])
    func malformed(text: String) {
        #expect(Snapshot(text) == nil)
    }
}

@Suite("Cursor")
struct CursorTests {
    static let places: [Cursor.Place] = {
        guard let earlier = Snapshot("5:9:5,7"), let later = Snapshot("12:12:") else { return [] }
        return [
            .at(earlier), .within(since: earlier, until: later, position: "m:4:17"),
            .within(since: nil, until: later, position: "p"),
        ]
    }()

    @Test("parses its own text", arguments: places)
    func roundTrip(place: Cursor.Place) {
        let cursor = Cursor(epoch: "e1", place: place)
        #expect(Cursor(cursor.text) == cursor)
    }

    @Test("rejects changed or truncated text", arguments: places)
    func tampered(place: Cursor.Place) {
        let text = Cursor(epoch: "e1", place: place).text
        for index in text.indices {
            var changed = text
            changed.replaceSubrange(index...index, with: text[index] == "0" ? "1" : "0")
            #expect(Cursor(changed) == nil)
            #expect(Cursor(String(text[..<index])) == nil)
        }
    }

    @Test("rejects forged text", arguments: ["", "/", "1", "1/2/3", "\u{0}", "🙂/🙂/🙂"])
    func invented(text: String) {
        #expect(Cursor(text) == nil)
    }
}
