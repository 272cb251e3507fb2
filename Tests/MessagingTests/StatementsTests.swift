import Postgres
import TestSupport
import Testing

@Suite("SQL statements")
struct StatementsTests {
    @Test("call one function each")
    func oneCall() throws {
        let statement = /Statement\(\s*"([^"]+)",\s*"+\s*([^"]*?)\s*"+\)/
        let call = /select ([a-z_, ]+ from )?([a-z]+\.)?[a-z_]+\([^()]*\)/
        var calls = 0
        var others: [String] = []
        let modules = ["Schema", "DatabaseAccess", "Accounts", "ChangeFeed", "Messaging", "Outbox"]
        for path in modules.flatMap({ Repository.files(in: "Sources/\($0)", endingIn: "swift") }) {
            for (_, name, text) in try Repository.text(path).matches(of: statement).map(\.output) {
                let sql = text.split(whereSeparator: { $0.isWhitespace || $0 == "\\" }).joined(separator: " ")
                if sql.wholeMatch(of: call) == nil { others.append(String(name)) } else { calls += 1 }
            }
        }
        #expect(
            others.sorted() == [
                "disabled_triggers", "extension_creation", "preamble", "record", "record_setting", "recorded", "state",
            ])
        #expect(calls > 40)
    }
}
