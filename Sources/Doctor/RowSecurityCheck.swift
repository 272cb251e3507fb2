import Postgres
import Schema

/// Checks that row-level security is enabled on each of our tables, with the policies of this binary.
struct RowSecurityCheck: Sendable {
    let database: DatabaseUnderTest

    private static let check = "rls"
    private static let again = "Run `postline migrate`, which creates them again."

    func findings() async throws(PostgresError) -> [Finding] {
        let tables = try await database.query(.tables)
        guard tables.indices.contains(where: { tables.isTrue("is_there", $0) }) else { return [] }
        let policies = Set(try await database.query(.policies).column("policy"))
        return Self.tables(tables) + Self.policies(policies)
    }

    private static func tables(_ answer: QueryResult) -> [Finding] {
        func names(_ isMeant: (Int) -> Bool) -> [String] {
            answer.indices.filter(isMeant).compactMap { answer.text("name", $0) }
        }
        var findings: [Finding] = []
        let missing = names { !answer.isTrue("is_there", $0) }
        if !missing.isEmpty {
            findings.append(.problem(check, "There is no \(RoleCheck.some(missing)).", "Run `postline migrate`."))
        }
        let open = names { answer.isTrue("is_there", $0) && !answer.isTrue("has_security", $0) }
        if !open.isEmpty {
            findings.append(
                .problem(
                    check, "Row-level security is off on \(RoleCheck.some(open)): its policies do not hold.",
                    open.map { "alter table \($0) enable row level security;" }.joined(separator: " ")))
        }
        let forced = names { answer.isTrue("is_forced", $0) }
        if !forced.isEmpty {
            findings.append(
                .warning(
                    check, "Row-level security is forced on the owner too on \(RoleCheck.some(forced)).",
                    "alter table … no force row level security: Postline's own functions run as the owner and may see "
                        + "nothing else."))
        }
        return findings.isEmpty
            ? [.ok(check, "Row-level security is on for all \(answer.indices.count) tables.")] : findings
    }

    private static func policies(_ found: Set<String>) -> [Finding] {
        let expected = ExpectedSchema.policies
        var findings: [Finding] = []
        let missing = expected.subtracting(found).sorted()
        if !missing.isEmpty {
            findings.append(.problem("policies", "Policies are missing: \(RoleCheck.some(missing)).", again))
        }
        let foreign = found.subtracting(expected).sorted()
        if !foreign.isEmpty {
            findings.append(
                .warning(
                    "policies", "There are policies that Postline did not make: \(RoleCheck.some(foreign)).",
                    "Each may let more be seen or written than Postline's do: drop it, unless you mean it."))
        }
        return findings.isEmpty
            ? [.ok("policies", "The \(expected.count) policies are there, and no others.")] : findings
    }
}
