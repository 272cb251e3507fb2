import Schema
import TestSupport
import Testing

/// Compares `docs/features.md` with the tests, so that every claim has a test.
@Suite("docs/features.md")
struct PublishedFeaturesTests {
    /// The number of requirements in each document.
    private static let documents: KeyValuePairs = ["A": 34, "B": 43, "C": 40, "D": 33, "E": 19, "F": 6]

    @Test("has each requirement once, in order")
    func requirements() throws {
        let expected = Self.documents.flatMap { document, count in (1...count).map { "\(document)\($0)" } }
        #expect(try Row.all().map(\.id) == expected)
    }

    @Test("states the tests or the decision of each requirement")
    func states() throws {
        for row in try Row.all() {
            #expect(!row.asked.isEmpty && !row.given.isEmpty, "\(row.id)")
            if row.state == .shown {
                #expect(
                    !row.tests.isEmpty && row.words.isEmpty, "\(row.id) names no test, or says more without a label")
            } else {
                #expect(row.words.count > 10, "\(row.id) does not say why or what")
            }
        }
    }

    @Test("names exactly the covering tests")
    func tests() throws {
        let existing = try Repository.coveringTests()
        var covering: [String: Set<String>] = [:]
        for test in existing {
            for id in test.requirements { covering[id, default: []].insert(test.title) }
        }
        for row in try Row.all() {
            let titles = covering.removeValue(forKey: row.id) ?? []
            for title in row.tests where !titles.contains(title) {
                Issue.record("\(row.id) names “\(title)”, and no test of that name covers \(row.id)")
            }
            for title in titles.subtracting(row.tests) {
                Issue.record("\(row.id) does not name “\(title)”, which covers it")
            }
        }
        #expect(covering.isEmpty, "these are no requirements: \(covering)")
        // The name of a covering test is unique.
        let twice = Dictionary(grouping: existing, by: \.title).filter { $0.value.count > 1 }.keys
        #expect(twice.isEmpty)
    }

    @Test("has correct counts")
    func counts() throws {
        let rows = try Row.all()
        for (document, _) in Self.documents {
            let own = rows.filter { $0.id.hasPrefix(document) }
            let line = try #require(
                try Repository.text("docs/features.md").split(separator: "\n").first { $0.hasPrefix("| \(document). ") }
            )
            #expect(line.cells.dropFirst() == Self.counts(own)[...], "\(document)")
        }
        let all = try #require(
            try Repository.text("docs/features.md").split(separator: "\n").first { $0.hasPrefix("| all ") })
        #expect(all.cells.dropFirst() == Self.counts(rows)[...])
    }

    private static func counts(_ rows: [Row]) -> [String] {
        ["\(rows.count)"] + Row.State.allCases.map { state in "\(rows.count { $0.state == state })" }
    }

    /// A row of the page.
    private struct Row {
        /// The states, in the order of the table of counts.
        enum State: String, CaseIterable {
            case shown = ""
            case decision = "decision: "
            case notYet = "not yet: "
            case app = "the app's own: "
        }

        let id: String
        let asked: String
        let given: String
        let state: State

        /// The text of the last column without test names.
        let words: String
        let tests: [String]

        init?(_ line: some StringProtocol) {
            let cells = line.cells
            guard line.hasPrefix("| "), cells.count == 4, cells[0].wholeMatch(of: /[A-F][0-9]+/) != nil else {
                return nil
            }
            (id, asked, given) = (cells[0], cells[1], cells[2])
            state = State.allCases.last { cells[3].hasPrefix($0.rawValue) } ?? .shown
            words = String(cells[3].dropFirst(state.rawValue.count)).replacing(/`[^`]*`|<br>/, with: "")
            tests = Repository.quoted(cells[3])
        }

        static func all() throws -> [Row] {
            try Repository.text("docs/features.md").split(separator: "\n").compactMap { Row($0) }
        }
    }
}

extension StringProtocol {
    /// Returns the cells of a table row.
    fileprivate var cells: [String] {
        split(separator: "|").map { $0.split(separator: " ").joined(separator: " ") }
    }
}
