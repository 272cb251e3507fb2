@testable import Foundations
import FuzzedLines
import Testing

@testable import Messaging

@Suite("Fuzzed byte streams", .serialized)
struct FuzzedStreamTests {
    @Test("row 15: fuzzed streams keep every invariant and flat memory")
    func lines() async {
        // The number that an unoptimized build checks in seconds. `make fuzz` checks a million, guided by coverage.
        let count = isSanitized ? 1_000 : 10_000
        let seed = testSeed()
        var lines = FuzzedLines(seed: seed, methods: Self.methods)
        let invariants = StreamInvariants(maxLineBytes: 65_536, maxUnendedBytes: 1 << 20)
        var before: Int?
        var fed = 0
        while fed < count {
            do {
                try invariants.check(lines.stream(of: 100), pieces: lines.pieces())
            } catch {
                Issue.record("with POSTLINE_TEST_SEED=\(seed), within lines \(fed) to \(fed + 99): \(error)")
                return
            }
            fed += 100
            // Other tests wait for the few threads, and some of them for the clock.
            await Task.yield()
            if fed == count / 10 { before = residentBytes() }
        }
        // Other suites use the same process meanwhile.
        if let before, let after = residentBytes() {
            #expect(after - before < 256 << 20, "POSTLINE_TEST_SEED=\(seed)")
        }
    }

    /// Every method.
    private static let methods = Operation.all.map { operation in
        FuzzedLines.Method(
            operation.method,
            operation.parameters.map { ($0.name, value(of: $0.type)) })
    }

    /// Returns a JSON value of a type.
    private static func value(of type: ParameterType) -> String {
        switch type {
        case .string: "\"word\""
        case .integer: "7"
        case .number: "2.5"
        case .bool: "true"
        case .uuid: "\"\(ID.random())\""
        case .uuids: "[\"\(ID.random())\"]"
        case .object(_, let members): members.isEmpty ? "{\"a\":[1,2.5,\"b\"]}" : object(of: members)
        case .objects(_, let members): "[\(object(of: members))]"
        case .fields(let members): object(of: members)
        }
    }

    private static func object(of members: [Parameter]) -> String {
        "{\(members.map { "\"\($0.name)\":\(value(of: $0.type))" }.joined(separator: ","))}"
    }
}
