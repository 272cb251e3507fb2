@testable import Schema
import TestSupport
import Testing

@Suite("Expected schema")
struct ExpectedSchemaTests {
    @Test("reads all tables and policies from policies.sql")
    func files() throws {
        let text = try Repository.text("sql/policies.sql")
        #expect(ExpectedSchema.tables.count == text.matches(of: /enable row level security/).count)
        #expect(ExpectedSchema.policies.count == text.split(separator: "\n").count { $0.hasPrefix("create policy ") })
        #expect(ExpectedSchema.tables.contains("app.migrations"))
        #expect(ExpectedSchema.policies.contains("member_select on public.messages"))
    }

    @Test("reads all grants from policies.sql")
    func rights() {
        let given = [
            "anon may select on public.built_in_avatars", "service_role may all on public.messages",
            "authenticated may update (deleted_at) on public.messages",
            "authenticated may insert (user_id) on public.conversation_members",
            "authenticated may delete on public.conversation_members", "authenticated may call api.send_message",
            "anon may call api.avatars", "authenticated may call app.is_change", "service_role may call public.is_read",
        ]
        for right in given { #expect(ExpectedSchema.rights.contains(right), "\(right)") }
        #expect(ExpectedSchema.rights.allSatisfy { !$0.contains(",") && !$0.contains("  ") })
        #expect(!ExpectedSchema.rights.contains("authenticated may update on public.messages"))
        #expect(!ExpectedSchema.rights.contains { $0.contains("*") }, "rights that nobody has named")
    }

    @Test("has a file for each check of the doctor")
    func questions() {
        let files = SQLFile.files(in: "doctor").map(\.name)
        #expect(files == DoctorQuery.allCases.map(\.rawValue).sorted())
        for query in DoctorQuery.allCases {
            let takesOthers = [.obstacles, .session].contains(query)
            #expect(query.sql.contains("$1") == (query.hasTablesParameter || takesOthers), "\(query)")
        }
    }
}
