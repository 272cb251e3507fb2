import TestSupport
import Testing

/// Compares `docs/reliability.md` with the checklist and the tests, so that every claim has a test.
@Suite("docs/reliability.md")
struct PublishedReliabilityTests {
    /// The numbers of the checklist.
    private static let numbers =
        (1...58).map(String.init) + ["58a", "58b"]
        + (59...71).map(String.init)

    @Test("has each row once, with a figure and an existing test")
    func rows() throws {
        let existing = try Self.names()
        let rows = try Self.table()
        #expect(rows.map(\.number) == Self.numbers)
        for row in rows {
            #expect(
                row.tests.contains { $0.hasPrefix("row \(row.number): ") }, "row \(row.number) names no test of its own"
            )
            #expect(row.figure.contains(#/\d|all|every/#), "row \(row.number) has no figure")
            for name in row.tests { #expect(existing.contains(name), "there is no test “\(name)”") }
        }
    }

    @Test("names every test of a row")
    func tests() throws {
        let rows = Dictionary(uniqueKeysWithValues: try Self.table().map { ($0.number, $0.tests) })
        for name in try Self.names() {
            guard let match = name.prefixMatch(of: #/row (\d+[a-z]?): /#) else { continue }
            let number = String(match.1)
            #expect(rows[number]?.contains(name) == true, "row \(number) does not name the test “\(name)”")
        }
    }

    private static func names() throws -> Set<String> {
        try Repository.testNames().union(Repository.sqlTestNames()).union(Repository.pythonTestNames())
    }

    private struct Row {
        let number: String
        let figure: String
        let tests: [String]
    }

    /// Returns the rows of the page's tables.
    private static func table() throws -> [Row] {
        try Repository.text("docs/reliability.md").split(separator: "\n").compactMap { line in
            // A bar within a test's name would be written as &#124;.
            let cells = line.split(separator: "|").map { $0.split(separator: " ").joined(separator: " ") }
            guard line.hasPrefix("| "), cells.count == 5, cells[0].first?.isNumber == true else { return nil }
            return Row(number: cells[0], figure: cells[3], tests: Repository.quoted(cells[4]))
        }
    }
}
