import Foundation
import TestSupport

/// What the tests and the documents say of each other.
extension Repository {
    /// The texts in backticks.
    static func quoted(_ text: some StringProtocol) -> [String] {
        text.split(separator: "`", omittingEmptySubsequences: false).enumerated().filter { $0.offset % 2 == 1 }
            .map { String($0.element) }
    }

    /// The display names of all tests, as their sources have them.
    static func testNames() throws -> Set<String> {
        Set(
            try matches(of: /@Test\(\s*"((?:[^"\\]|\\.)*)"/, inFilesOf: "Tests", endingIn: "swift").map(unescaped))
    }

    /// The tests that say which requirements of `docs/features.md` they cover: Swift's by a trait, Python's by the
    /// comment above them, those of SQL and of the composed system in their names, which begin as in "A13, A14: ".
    static func coveringTests() throws -> [(title: String, requirements: [String])] {
        let swift = try files(in: "Tests", endingIn: "swift").flatMap { path in
            try text(path).components(separatedBy: "@Test(").dropFirst().compactMap { source -> (String, [String])? in
                let attribute = source.components(separatedBy: "func ")[0]
                guard let title = attribute.prefixMatch(of: /\s*"((?:[^"\\]|\\.)*)"/),
                    let covered = attribute.firstMatch(of: /\.covers\(([^)]*)\)/)
                else { return nil }
                return (unescaped(title.1), covered.1.matches(of: /"([^"]*)"/).map { String($0.1) })
            }
        }
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

    private static func unescaped(_ literal: some StringProtocol) -> String {
        String(literal).replacing("\\\"", with: "\"").replacing("\\\\", with: "\\")
    }

    /// What the SQL tests say of themselves, as far as a row of the checklist stands first.
    static func sqlTestNames() throws -> Set<String> {
        Set(
            try matches(of: /'(row \d+[a-z]?: (?:[^']|'')*)'/, inFilesOf: "sql/tests", endingIn: "sql").map {
                $0.replacing("''", with: "'").trimmingCharacters(in: .whitespaces)
            })
    }

    /// The tests of HTTP and of the console that try a row of the checklist, which the comment above them names.
    static func pythonTestNames() throws -> Set<String> {
        let sources = try ["Tests/HTTP", "Tests/Console"].flatMap { files(in: $0, endingIn: "py") }.map(text)
        return Set(
            sources.flatMap { source in
                source.matches(of: /# Row (\d+[a-z]?)\.\n +(?:# .*\n +)?(?:async )?def test_(\w+)\(/).map { match in
                    "row \(match.1): \(match.2.replacing("_", with: " "))"
                }
            })
    }

    /// What stands in the parentheses of each match. A literal of SQL may go on in the next line.
    private static func matches(
        of pattern: Regex<(Substring, Substring)>, inFilesOf directory: String, endingIn ending: String
    ) throws -> [String] {
        try files(in: directory, endingIn: ending).flatMap { path in
            try text(path).replacing(/'\n\s*'/, with: "").matches(of: pattern).map { String($0.1) }
        }
    }
}
