import Foundation
import Schema
import TestSupport

/// The names and tags of tests. `scripts/docs` reads the sources by the same rules.
extension Repository {
    /// Returns the texts in backticks.
    static func quoted(_ text: some StringProtocol) -> [String] {
        text.split(separator: "`", omittingEmptySubsequences: false).enumerated().filter { $0.offset % 2 == 1 }
            .map { String($0.element) }
    }

    /// Returns the display names of all Swift tests.
    static func testNames() throws -> Set<String> { Set(try swiftTests().map(\.title)) }

    /// Returns the tests that cover requirements of `docs/features.md`.
    static func coveringTests() throws -> [(title: String, requirements: [String])] {
        try taggedTests().compactMap { test in
            let requirements = test.tags.filter { !$0.hasPrefix("row ") }
            return requirements.isEmpty ? nil : (test.title, requirements)
        }
    }

    /// Returns the tests with tags: Swift tests with a trait, Python tests with a comment, and tests of SQL and of the
    /// composed system with a name that begins as in "A13, A14: ".
    static func taggedTests() throws -> [(title: String, tags: [String])] {
        let swift = try swiftTests().filter { !$0.tags.isEmpty }
        let sql = try matches(
            of: /'((?:[A-F]\d+, )*[A-F]\d+: (?:[^']|'')*)'/, inFilesOf: "sql/tests", endingIn: "sql"
        ).map { $0.replacing("''", with: "'") }
        let composed = try matches(
            of: /"((?:[A-F]\d+, )*[A-F]\d+: (?:[^"\\]|\\.)*)"/, inFilesOf: "Tests/ComposedTests", endingIn: "swift")
        let python = try ["Tests/HTTP", "Tests/Console"].flatMap { files(in: $0, endingIn: "py") }.flatMap { path in
            try text(path).matches(of: /# Covers ([A-F0-9, ]+)\.\n +(?:async )?def test_(\w+)\(/).map { match in
                (String(match.2).replacing("_", with: " "), match.1.split(separator: ", ").map(String.init))
            }
        }
        return swift + python
            + (sql + composed).map { title in
                (title, title.prefix { $0 != ":" }.matches(of: /[A-F]\d+/).map { String($0.0) })
            }
    }

    /// Returns the name and the tags of each Swift test that has a name.
    private static func swiftTests() throws -> [(title: String, tags: [String])] {
        try files(in: "Tests", endingIn: "swift").flatMap { path in
            try text(path).components(separatedBy: "@Test(").dropFirst().compactMap { source -> (String, [String])? in
                let attribute = source.components(separatedBy: "func ")[0]
                guard let name = title(of: attribute) else { return nil }
                let covered = attribute.firstMatch(of: /\.covers\(([^)]*)\)/)
                return (name, covered?.1.matches(of: /"([^"]*)"/).map { String($0.1) } ?? [])
            }
        }
    }

    private static func title(of attribute: String) -> String? {
        if let block = attribute.prefixMatch(of: /\s*"""\n((?:[^"]|"(?!""))*)\n\s*"""/) {
            return block.1.replacing(/\\\n\s*/, with: "").trimmingCharacters(in: .whitespacesAndNewlines)
        }
        return attribute.prefixMatch(of: /\s*"((?:[^"\\]|\\.)*)"/).map { unescaped($0.1) }
    }

    private static func unescaped(_ literal: some StringProtocol) -> String {
        String(literal).replacing("\\\"", with: "\"").replacing("\\\\", with: "\\")
    }

    /// Returns the names of SQL tests that begin with a row of `docs/guarantees.md`.
    static func sqlTestNames() throws -> Set<String> {
        Set(
            try matches(of: /'(row \d+[a-z]?: (?:[^']|'')*)'/, inFilesOf: "sql/tests", endingIn: "sql").map {
                $0.replacing("''", with: "'").trimmingCharacters(in: .whitespaces)
            })
    }

    /// Returns the names of the tests of HTTP and of the console whose comment names a row, with the row before them.
    static func pythonTestNames() throws -> Set<String> {
        let sources = try ["Tests/HTTP", "Tests/Console"].flatMap { files(in: $0, endingIn: "py") }.map(text)
        return Set(
            sources.flatMap { source in
                source.matches(of: /# Row (\d+[a-z]?)\.\n +(?:# .*\n +)?(?:async )?def test_(\w+)\(/).map { match in
                    "row \(match.1): \(match.2.replacing("_", with: " "))"
                }
            })
    }

    /// Returns the first group of each match. A literal of SQL may continue in the next line.
    private static func matches(
        of pattern: Regex<(Substring, Substring)>, inFilesOf directory: String, endingIn ending: String
    ) throws -> [String] {
        try files(in: directory, endingIn: ending).flatMap { path in
            try text(path).replacing(/'\n\s*'/, with: "").matches(of: pattern).map { String($0.1) }
        }
    }
}
