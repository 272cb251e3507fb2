import Foundation
import TestSupport
import Testing

/// Checks that the functions and files in `docs/architecture.md` exist.
@Suite("Architecture page")
struct PublishedArchitectureTests {
    private let page: String

    init() throws {
        page = try Repository.text("docs/architecture.md")
    }

    /// Returns all declarations by keyword and name, such as `func open`; initializers are `init`.
    ///
    /// `NSRegularExpression` reads all sources in a second in a debug build, `Regex` in two minutes.
    private static func declarations(in text: String) throws -> Set<String> {
        let pattern = #"\b(?:struct|class|enum|actor|protocol|extension|func|var|let|case) \w+|\binit(?=\??\()"#
        let string = NSString(string: text)
        return Set(
            try NSRegularExpression(pattern: pattern)
                .matches(in: text, range: NSRange(location: 0, length: string.length))
                .map { string.substring(with: $0.range) })
    }

    /// Returns the matches between backquotes.
    private func names<Match>(_ regex: Regex<Match>) -> [Match] {
        page.split(separator: "`", omittingEmptySubsequences: false).enumerated()
            .filter { !$0.offset.isMultiple(of: 2) }
            .compactMap { (try? regex.wholeMatch(in: $0.element))?.output }
    }

    @Test("each `Type.member` is a member of that type")
    func members() throws {
        let names = names(/([A-Z]\w+)\.(\w+)/).filter { $0.2 != "swift" && $0.2 != "md" }
        #expect(names.count > 30)
        let sources = try Repository.files(in: "Sources", endingIn: "swift").map {
            try Self.declarations(in: Repository.text($0))
        }
        for (name, type, member) in names {
            let types = ["struct", "class", "enum", "actor", "protocol", "extension"].map { "\($0) \(type)" }
            let members = member == "init" ? ["init"] : ["func", "var", "let", "case"].map { "\($0) \(member)" }
            let isThere = sources.contains { !$0.isDisjoint(with: types) && !$0.isDisjoint(with: members) }
            #expect(isThere, "\(name)")
        }
    }

    @Test("each `schema.function` is in a file of that schema")
    func functions() throws {
        let names = names(/(app|api|accounts|feed|rest)\.(\w+)/).filter { $0.2 != "sql" }
        #expect(names.count > 8)
        let files = try Repository.files(in: "sql", endingIn: "sql").map(Repository.text)
        for (name, schema, function) in names {
            let kinds = "function|view|table|table if not exists"
            let made = try Regex("create (or replace )?(\(kinds)) \(schema)\\.\(function)\\b")
            #expect(files.contains { $0.contains(made) }, "\(name)")
        }
    }

    @Test("each file exists")
    func files() throws {
        let all = ["sql", "Sources", "Tests"].flatMap { folder in
            ["sql", "swift"].flatMap { Repository.files(in: folder, endingIn: $0) }
        }
        let names = names(/[\w\/+]+\.(sql|swift)/).map(\.0)
        #expect(names.count > 8)
        for name in names { #expect(all.contains { $0.hasSuffix("/\(name)") || $0 == name }, "\(name)") }
    }
}
