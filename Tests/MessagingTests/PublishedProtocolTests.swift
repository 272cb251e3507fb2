import Foundation
import TestSupport
import Testing
@testable import WireProtocol

@testable import Messaging

/// Compares `docs/protocol.md` with the code.
@Suite("docs/protocol.md")
struct PublishedProtocolTests {
    @Test(
        "lists every error with number and retryability", .covers("A27", "D25", "D30"))
    func errors() throws {
        var documented: [String: [String]] = [:]
        for row in try rows(of: "## 2. Errors") {
            documented[Repository.quoted(row[1]).first ?? ""] = [row[0], row[2]]
        }
        let expected = ErrorCode.allCases.map { ($0.rawValue, ["\($0.number)", $0.isRetryable ? "yes" : "no"]) }
        #expect(documented == Dictionary(uniqueKeysWithValues: expected))
    }

    @Test("lists every goodbye and its reconnect flag", .covers("D30"))
    func goodbyes() throws {
        var documented: [String: String] = [:]
        for row in try rows(of: "## 1. Framing") { documented[Repository.quoted(row[0]).first ?? ""] = row[1] }
        let expected = GoodbyeCode.allCases.map { ($0.rawValue, $0.reconnect ? "yes" : "no") }
        #expect(documented == Dictionary(uniqueKeysWithValues: expected))
    }

    @Test("lists every method of this server and no other", .covers("D30"))
    func methods() throws {
        let listed = try rows(of: "## 5. Methods").compactMap { Repository.quoted($0[0]).first }
        #expect(listed.sorted() == Operation.all.map(\.method).sorted())
    }

    @Test("states the params and bounds of each method")
    func params() throws {
        var documented: [String: String] = [:]
        for row in try rows(of: "## 5. Methods") { documented[Repository.quoted(row[0]).first ?? ""] = row[1] }
        for operation in Operation.all {
            #expect(documented[operation.method] == operation.writtenParams, "\(operation.method)")
        }
    }

    @Test("states the access of each method")
    func access() throws {
        for row in try rows(of: "## 5. Methods") {
            let operation = try Operation.named(Repository.quoted(row[0]).first ?? "")
            #expect(row[0].hasSuffix(" U") == (operation.access == .anyone), "\(row[0])")
        }
    }

    /// Returns the rows of a section's table without the header.
    private func rows(of heading: String) throws -> [[String]] {
        try section(heading).split(separator: "\n").filter { $0.hasPrefix("| ") }.dropFirst().map { row in
            // A bar within a cell is escaped.
            row.replacing(#"\|"#, with: "\u{0}").split(separator: "|").map {
                $0.trimmed.replacing("\u{0}", with: "|")
            }
        }
    }

    private func section(_ heading: String) throws -> String {
        let text = try Repository.text("docs/protocol.md")
        let start = try #require(text.range(of: heading))
        let rest = text[start.upperBound...]
        return String(rest[..<(rest.range(of: "\n## ")?.lowerBound ?? rest.endIndex)])
    }
}

extension Substring {
    fileprivate var trimmed: String {
        String(drop(while: \.isWhitespace).reversed().drop(while: \.isWhitespace).reversed())
    }
}
