import Crypto
import FuzzedLines
import LineClient
import Testing
@testable import WireProtocol

@Suite("Forged cursors", .timeLimit(.minutes(20)))
struct ForgedCursorTests {
    /// Returns a cursor of these fields with a valid checksum, which is no secret.
    static func sealed(_ fields: [String]) -> String {
        let body = fields.joined(separator: "/")
        let sum = SHA256.hash(data: Array(body.utf8)).prefix(6)
        return body + "/" + sum.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }

    /// Reads all pages of a sync with the cursor, and returns true if it was a reset.
    private static func isReset(_ cursor: String, _ client: TestClient) async throws -> Bool {
        let answer = try await client.call(
            "sync.open", ["cursor": .string(cursor), "live": false, "messages_per_conversation": 0])
        expectChanges(answer)
        return answer["reset"] == true
    }

    @Test("row 58a: an unreadable cursor is a reset")
    func cannotBeContinued() async throws {
        try await withNode { node in
            let client = try await node.signedIn(.alice)
            let good = try #require(try await client.call("sync.open", ["live": false])["cursor"]?.stringValue)
            let fields = good.split(separator: "/").map(String.init)
            #expect(Self.sealed(Array(fields.prefix(3))) == good)
            let (epoch, snapshot) = (fields[1], fields[2])
            #expect(try await Self.isReset(good, client) == false)
            let snapshots = [
                "9223372036854775808:9223372036854775808:", "1:9223372036854775808:", "1:9223372036854775807:",
                "1:4294967296:", "1:18446744073709551615:", "1:99999999999999999999:", "0:0:", "5:4:", "-1:5:", "1:5:7",
                "1:5:2,",
                "+1:5:", "x", "", "1:2:3:4", "\u{2028}",
            ]
            for wrong in snapshots {
                #expect(try await Self.isReset(Self.sealed(["1", epoch, wrong]), client) == true, "\(wrong)")
                let within = Self.sealed(["1", epoch, wrong, snapshot, "profiles:\(Room.alps)"])
                #expect(try await Self.isReset(within, client) == !wrong.isEmpty, "\(wrong)")
            }
            let positions = [
                "", "x", "profiles", "profiles:", "profiles:x", "profiles:\(Room.alps):1", "messages:\(Room.alps)",
                "messages:\(Room.alps):\(Room.alps)", "messages:\(Room.alps):-1", "reads:\(Room.alps):123",
                "messages:\(Room.alps):9223372036854775808", "reads:\(Room.alps)", "left:1", "left:\(Room.alps)\n",
                "PROFILES:\(Room.alps)", "conversations:\(Person.alice.id.uppercased())", "messages:\(Room.alps):٣",
            ]
            for position in positions {
                for since in ["", snapshot] {
                    let cursor = Self.sealed(["1", epoch, since, snapshot, position])
                    #expect(try await Self.isReset(cursor, client) == true, "\(since) \(position)")
                }
            }
            for other in ["", "x", String(repeating: "0", count: 10_000)] {
                #expect(try await Self.isReset(Self.sealed(["1", other, snapshot]), client) == true)
            }
        }
    }

    @Test("row 58a: 3,000 mutated cursors with a valid checksum get a page")
    func mutated() async throws {
        let seed = testSeed()
        try await withNode { node in
            var random = SeededRandom(seed)
            let client = try await node.signedIn(.frank)
            let good = try #require(try await client.call("sync.open", ["live": false])["cursor"]?.stringValue)
            let fields = good.split(separator: "/").map(String.init)
            let (epoch, snapshot) = (fields[1], fields[2])
            let seeds = ["", snapshot].flatMap { since in
                [
                    "left:\(Room.alps)", "profiles:\(Person.bob.id)", "conversations:\(Room.bookClub)",
                    "messages:\(Room.bookClub):1", "reads:\(Room.bookClub):\(Person.alice.id)",
                ].map { ["1", epoch, since, snapshot, $0] }
            }
            var answered = 0
            for _ in 0..<3_000 {
                var forged = random.chance(30) ? ["1", epoch, snapshot] : seeds.randomElement(using: &random) ?? []
                for _ in 0...Int.random(in: 0...2, using: &random) { Self.mutate(&forged, &random) }
                do {
                    _ = try await Self.isReset(Self.sealed(forged), client)
                    answered += 1
                } catch let error as RemoteError {
                    Issue.record("POSTLINE_TEST_SEED=\(seed): \(forged) is \(error.code)")
                }
            }
            #expect(answered == 3_000)
        }
    }

    /// Changes one field: adds, removes or replaces a character, or uses part of another field or an edge-case number.
    private static func mutate(_ fields: inout [String], _ random: inout SeededRandom) {
        guard let index = fields.indices.randomElement(using: &random) else { return }
        var text = Array(fields[index])
        let place = Int.random(in: 0...text.count, using: &random)
        let characters = Array("0123456789abcdefABCDEF:,-+. xé\n\u{1F600}'\"{}")
        let numbers = [
            "0", "1", "3", "4294967295", "4294967296", "9223372036854775807", "9223372036854775808",
            "18446744073709551615", "18446744073709551616", "-1", "00000000000000000000001",
        ]
        switch Int.random(in: 0..<6, using: &random) {
        case 0 where place < text.count: text.remove(at: place)
        case 1 where place < text.count: text[place] = characters.randomElement(using: &random) ?? "x"
        case 2: text.insert(characters.randomElement(using: &random) ?? "x", at: place)
        case 3: text.insert(contentsOf: numbers.randomElement(using: &random) ?? "0", at: place)
        case 4:
            let parts = fields[index].split(separator: ":", omittingEmptySubsequences: false).map(String.init)
            var changed = parts
            changed[Int.random(in: 0..<parts.count, using: &random)] = numbers.randomElement(using: &random) ?? "0"
            text = Array(changed.joined(separator: ":"))
        default:
            let other = fields.randomElement(using: &random) ?? ""
            text.insert(contentsOf: other.prefix(Int.random(in: 0...other.count, using: &random)), at: place)
        }
        fields[index] = String(text)
    }
}
