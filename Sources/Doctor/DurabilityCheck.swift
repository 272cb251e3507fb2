import Postgres
import Schema

/// Checks that acknowledged writes survive a crash of the database's machine.
struct DurabilityCheck: Sendable {
    let database: DatabaseUnderTest

    func findings() async throws(PostgresError) -> [Finding] {
        let answer = try await database.query(.durability)
        let off = answer.indices.filter { answer.text("setting", $0) == "off" }
            .compactMap { answer.text("name", $0) }
        return Self.findings(off: off)
    }

    static func findings(off: [String]) -> [Finding] {
        let findings = off.map { name in
            Finding.warning("durability", "\(name) is off: \(consequence(of: name))", "Set \(name) to on.")
        }
        return findings.isEmpty ? [.ok("durability", "A commit is on disk when it is answered.")] : findings
    }

    private static func consequence(of name: String) -> String {
        name == "synchronous_commit"
            ? "a crash loses the last messages that were answered."
            : "a crash can leave the database broken."
    }
}
