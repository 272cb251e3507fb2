import Foundation
import TestSupport
import Testing

/// `docs/architecture.md` names functions and files. They are there under these names.
@Suite("The architecture's page names what there is")
struct PublishedArchitectureTests {
    private let page: String
    private let sources: [String]

    init() throws {
        page = try Repository.text("docs/architecture.md")
        sources = try Repository.files(in: "Sources", endingIn: "swift").map(Repository.text)
    }

    /// What stands between backquotes and looks like that.
    private func names<Match>(_ regex: Regex<Match>) -> [Match] {
        page.split(separator: "`", omittingEmptySubsequences: false).enumerated()
            .filter { !$0.offset.isMultiple(of: 2) }
            .compactMap { (try? regex.wholeMatch(in: $0.element))?.output }
    }

    @Test("each `Type.member` is a member of that type")
    func members() throws {
        let names = names(/([A-Z]\w+)\.(\w+)/).filter { $0.2 != "swift" && $0.2 != "md" }
        #expect(names.count > 30)
        for (name, type, member) in names {
            let declaration = try Regex("(struct|class|enum|actor|protocol|extension) \(type)\\b")
            let declared = try Regex(member == "init" ? "init\\??\\(" : "(func|var|let|case) \(member)\\b")
            let isThere = sources.contains { $0.contains(declaration) && $0.contains(declared) }
            #expect(isThere, "\(name)")
        }
    }

    @Test("each `schema.function` is made in a file of that schema")
    func functions() throws {
        let names = names(/(app|api|accounts|feed|rest)\.(\w+)/).filter { $0.2 != "sql" }
        #expect(names.count > 8)
        for (name, schema, function) in names {
            let files = try Repository.files(in: "sql", endingIn: "sql").map(Repository.text)
            let kinds = "function|view|table|table if not exists"
            let made = try Regex("create (or replace )?(\(kinds)) \(schema)\\.\(function)\\b")
            #expect(files.contains { $0.contains(made) }, "\(name)")
        }
    }

    @Test("each file is there")
    func files() throws {
        let all = ["sql", "Sources", "Tests"].flatMap { folder in
            ["sql", "swift"].flatMap { Repository.files(in: folder, endingIn: $0) }
        }
        let names = names(/[\w\/+]+\.(sql|swift)/).map(\.0)
        #expect(names.count > 8)
        for name in names { #expect(all.contains { $0.hasSuffix("/\(name)") || $0 == name }, "\(name)") }
    }
}
