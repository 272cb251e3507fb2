import Foundation
import TestSupport
import Testing

/// Checks that the types, members and files that the architecture pages and ADRs name exist.
@Suite("Pages about the architecture")
struct PublishedArchitectureTests {
    private let pages: [String]

    init() throws {
        let records = Repository.files(in: "docs/adr", endingIn: "md")
        pages = try (["docs/overview.md", "docs/change-feed.md", "docs/write-path.md"] + records)
            .map(Repository.text)
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
        pages.flatMap { page in
            page.split(separator: "`", omittingEmptySubsequences: false).enumerated()
                .filter { !$0.offset.isMultiple(of: 2) }
                .compactMap { (try? regex.wholeMatch(in: $0.element))?.output }
        }
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
        let all =
            ["Package.swift"]
            + ["sql", "Sources", "Tests"].flatMap { folder in
                ["sql", "swift"].flatMap { Repository.files(in: folder, endingIn: $0) }
            }
        let names = names(/[\w\/+]+\.(sql|swift)/).map(\.0)
        #expect(names.count > 8)
        for name in names { #expect(all.contains { $0.hasSuffix("/\(name)") || $0 == name }, "\(name)") }
    }

    @Test("the overview lists each module of Swift, and no other")
    func modules() throws {
        let overview = try #require(pages.first)
        let start = try #require(overview.range(of: "\n## Modules\n"))
        let section = overview[start.upperBound...].prefix(while: { $0 != "#" })
        let listed = Set(
            section.split(separator: "\n").filter { $0.hasPrefix("| `") }.flatMap { row in
                row.dropFirst(2).prefix(while: { $0 != "|" }).matches(of: /`([\w-]+)`/).map { String($0.1) }
            })
        let ofC: Set = ["CPostgres", "CArgon2", "CCrypt", "CCurl", "CZlib", "CClients", "CNotifyPeer"]
        let modules = Set(
            Repository.files(in: "Sources", endingIn: "swift").map { String($0.split(separator: "/")[1]) })
        #expect(listed.subtracting(ofC) == modules)
    }
}
