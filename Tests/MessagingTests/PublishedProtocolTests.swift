import Foundation
import Testing

@testable import Messaging

/// `docs/protocol.md` is held against the code, so that the two cannot drift.
@Suite("The published protocol")
struct PublishedProtocolTests {
    @Test("names each error with its number and whether it is retryable as the code has it")
    func errors() throws {
        let rows = try section("## 2. Errors").split(separator: "\n").filter { $0.hasPrefix("| ") }
        var documented: [String: (number: Int, retryable: Bool)] = [:]
        for row in rows {
            let cells = row.split(separator: "|").map { $0.trimmed }
            guard cells.count >= 4, let number = Int(cells[0]) else { continue }
            for name in quoted(cells[1]) { documented[name] = (number, cells[2] == "yes") }
        }
        #expect(Set(documented.keys) == Set(ErrorCode.allCases.map(\.rawValue)))
        for code in ErrorCode.allCases {
            #expect(documented[code.rawValue]?.number == code.number, "\(code.rawValue)")
            #expect(documented[code.rawValue]?.retryable == code.isRetryable, "\(code.rawValue)")
        }
    }

    @Test("names each goodbye")
    func goodbyes() throws {
        let text = try section("## 1. Framing")
        for code in GoodbyeCode.allCases { #expect(text.contains("`\(code.rawValue)`")) }
    }

    @Test("names each method that this server has, and marks the others as coming")
    func methods() throws {
        var served: Set<String> = []
        for row in try section("## 5. Methods").split(separator: "\n") where row.hasPrefix("| ") {
            let cells = row.split(separator: "|").map { $0.trimmed }
            if cells.count > 2, let name = quoted(cells[0]).first, cells[1] == "now" { served.insert(name) }
        }
        #expect(served == Set(Operation.all.map(\.method)))
    }

    private func section(_ heading: String) throws -> String {
        let path = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
        let text = try String(contentsOfFile: "/\(path)/docs/protocol.md", encoding: .utf8)
        let start = try #require(text.range(of: heading))
        let rest = text[start.upperBound...]
        return String(rest[..<(rest.range(of: "\n## ")?.lowerBound ?? rest.endIndex)])
    }

    /// The texts in backticks.
    private func quoted(_ text: some StringProtocol) -> [String] {
        text.split(separator: "`", omittingEmptySubsequences: false).enumerated().filter { $0.offset % 2 == 1 }
            .map { String($0.element) }
    }
}

extension Substring {
    fileprivate var trimmed: String {
        String(drop(while: \.isWhitespace).reversed().drop(while: \.isWhitespace).reversed())
    }
}
