@testable import Schema
import Testing

@Suite("Login role")
struct LoginRoleTests {
    @Test("is the user without the pooler's project suffix")
    func names() throws {
        let cases: [(url: String, owner: String?, name: String)] = [
            ("postgresql://chat:secret@db/world", nil, "chat"),
            ("postgresql://db/world", nil, "postline"),
            ("postgresql://chat:secret@db/world", "postgresql://owner@db/world", "chat"),
            ("postgresql://postline.abcdef:secret@pooler/x", "postgresql://postgres.abcdef@pooler/x", "postline"),
            ("user=postline.abcdef password=secret", "user=postgres.abcdef", "postline"),
            // A dot that belongs to the name.
            ("postgresql://first.last:secret@db/world", nil, "first.last"),
            ("postgresql://first.last:secret@db/world", "postgresql://postgres@db/world", "first.last"),
            ("postgresql://first.last:secret@db/world", "postgresql://postgres.abcdef@db/world", "first.last"),
            ("postgresql://postline.abcdef@db/world", "postgresql://.abcdef@db/world", "postline.abcdef"),
        ]
        for (url, owner, name) in cases {
            let role = try Migrator.LoginRole(of: url, owner: owner)
            #expect(role.name == name, "\(url)")
            #expect(role.password == (url.contains("secret") ? "secret" : nil))
        }
    }
}
