import Foundation
import TestSupport

/// The names of tests in sources and documents.
extension Repository {
    /// Returns the texts in backticks.
    static func quoted(_ text: some StringProtocol) -> [String] {
        text.split(separator: "`", omittingEmptySubsequences: false).enumerated().filter { $0.offset % 2 == 1 }
            .map { String($0.element) }
    }

    /// Returns the display names of all Swift tests.
    static func testNames() throws -> Set<String> {
        Set(
            try matches(of: /@Test\(\s*"((?:[^"\\]|\\.)*)"/, inFilesOf: "Tests", endingIn: "swift").map(unescaped))
    }

    /// Returns the tests that state which requirements of `docs/features.md` they cover: Swift tests by a trait, Python
    /// tests by a comment, and those in SQL and of the composed system by a prefix of the name such as "A13, A14: ".
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

    /// Returns the names of SQL tests that begin with a row of the checklist.
    static func sqlTestNames() throws -> Set<String> {
        Set(
            try matches(of: /'(row \d+[a-z]?: (?:[^']|'')*)'/, inFilesOf: "sql/tests", endingIn: "sql").map {
                $0.replacing("''", with: "'").trimmingCharacters(in: .whitespaces)
            })
    }

    /// Returns the HTTP and console tests with a comment that names a row of the checklist.
    static func pythonTestNames() throws -> Set<String> {
        let sources = try ["Tests/HTTP", "Tests/Console"].flatMap { files(in: $0, endingIn: "py") }.map(text)
        return Set(
            sources.flatMap { source in
                source.matches(of: /# Row (\d+[a-z]?)\.\n +(?:# .*\n +)?(?:async )?def test_(\w+)\(/).map { match in
                    "row \(match.1): \(match.2.replacing("_", with: " "))"
                }
            })
    }

    /// Returns the first capture of each match. A SQL literal may continue on the next line.
    private static func matches(
        of pattern: Regex<(Substring, Substring)>, inFilesOf directory: String, endingIn ending: String
    ) throws -> [String] {
        try files(in: directory, endingIn: ending).flatMap { path in
            try text(path).replacing(/'\n\s*'/, with: "").matches(of: pattern).map { String($0.1) }
        }
    }
}
