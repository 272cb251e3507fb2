import Schema
import TestSupport
import Testing

/// Compares `docs/guarantees.md` with the list of rows and with the tests, so that every claim has a test.
@Suite("docs/guarantees.md")
struct PublishedGuaranteesTests {
    /// The numbers of the rows.
    private static let numbers: [String] = (1...71).flatMap { number -> [String] in
        switch number {
        case 58: ["58", "58a", "58b"]
        case 65: ["65", "65a", "65b", "65c"]
        default: [String(number)]
        }
    }

    @Test("has each row once, with what is tried and an existing test")
    func rows() throws {
        let existing = try Self.names()
        let rows = try Self.table()
        #expect(rows.map(\.number) == Self.numbers)
        for row in rows {
            #expect(
                row.tests.contains { $0.hasPrefix("row \(row.number): ") }, "row \(row.number) names no test of its own"
            )
            #expect(!row.statement.isEmpty, "row \(row.number) has no statement")
            #expect(row.tried.contains(#/\d|all|every/#), "row \(row.number) does not say what is tried")
            for name in row.tests { #expect(existing.contains(name), "there is no test “\(name)”") }
        }
    }

    @Test("names exactly the tests of each row")
    func tests() throws {
        var ofRows: [String: Set<String>] = [:]
        for name in try Self.names() {
            guard let match = name.prefixMatch(of: #/row (\d+[a-z]?): /#) else { continue }
            ofRows[String(match.1), default: []].insert(name)
        }
        for test in try Repository.taggedTests() {
            for tag in test.tags where tag.hasPrefix("row ") {
                ofRows[String(tag.dropFirst("row ".count)), default: []].insert(test.title)
            }
        }
        for row in try Self.table() {
            let titles = ofRows.removeValue(forKey: row.number) ?? []
            let difference = titles.symmetricDifference(row.tests)
            #expect(difference.isEmpty, "row \(row.number): run make docs")
        }
        #expect(ofRows.isEmpty, "these are no rows: \(ofRows)")
    }

    private static func names() throws -> Set<String> {
        try Repository.testNames().union(Repository.sqlTestNames()).union(Repository.pythonTestNames())
    }

    private struct Row {
        let number: String
        let statement: String
        let tried: String
        let tests: [String]
    }

    /// Returns the rows of the page's tables.
    private static func table() throws -> [Row] {
        try Repository.text("docs/guarantees.md").split(separator: "\n").compactMap { line in
            let cells = line.split(separator: "|").map { $0.split(separator: " ").joined(separator: " ") }
            guard line.hasPrefix("| "), cells.count == 4, cells[0].first?.isNumber == true else { return nil }
            return Row(number: cells[0], statement: cells[1], tried: cells[2], tests: Repository.quoted(cells[3]))
        }
    }
}
