import Postgres
import Schema

/// Checks the login role, the roles that it assumes, and their rights.
struct RoleCheck: Sendable {
    let database: DatabaseUnderTest

    private static let check = "roles"
    private static let migrate = "Run `postline migrate`, which grants it; POSTLINE_DATABASE_URL must name the role."

    func findings() async throws(PostgresError) -> [Finding] {
        let login = Self.login(try await database.query(.login))
        let answer = try await database.query(.roles)
        let (roles, areThere) = Self.roles(answer)
        guard areThere else { return [login, roles] }
        let lacks = try await database.query(.rights).column("lack")
        let granted = try await database.query(.excess)
        return [login, roles] + Self.widened(answer) + [Self.rights(lacks)] + Self.excess(granted)
    }

    private static func login(_ answer: QueryResult) -> Finding {
        let name = answer.text("name") ?? ""
        let advice = "Connect as the role postline, or another that owns nothing; `postline migrate` makes it."
        if answer.isTrue("is_superuser") {
            return .problem(
                check, "The login role \(name) is a superuser: row-level security would not apply to it.", advice)
        }
        if answer.isTrue("bypasses") {
            return .problem(check, "The login role \(name) bypasses row-level security.", advice)
        }
        if answer.integer("owned") > 0 {
            return .problem(check, "The login role \(name) owns tables: their rules do not hold for it.", advice)
        }
        if let tables = answer.text("tables") {
            return .problem(
                check, "The login role \(name) has rights of its own, or inherits them, on \(tables).",
                "Revoke them, or if it inherits them run `postline migrate`, which stops that: a request that sets no "
                    + "role must be able to do nothing.")
        }
        return .ok(check, "The login role \(name) has no rights of its own.")
    }

    private static func roles(_ answer: QueryResult) -> (Finding, areThere: Bool) {
        let missing = answer.indices.filter { !answer.isTrue("is_there", $0) }.compactMap { answer.text("name", $0) }
        if !missing.isEmpty {
            let finding = Finding.problem(
                check, "There is no role \(missing.joined(separator: ", ")).", "Run `postline migrate`.")
            return (finding, false)
        }
        let strong = answer.indices.filter { answer.isTrue("is_strong", $0) }.compactMap { answer.text("name", $0) }
        if !strong.isEmpty {
            let finding = Finding.problem(
                check, "\(strong.joined(separator: ", ")) can go past the policies.",
                "Take superuser, bypassrls and createrole from it (alter role … nosuperuser nobypassrls nocreaterole).")
            return (finding, true)
        }
        let barred = answer.indices.filter { !answer.isTrue("may_set", $0) }.compactMap { answer.text("name", $0) }
        if !barred.isEmpty {
            let finding = Finding.problem(
                check, "The login role may not take on \(barred.joined(separator: ", ")).", migrate)
            return (finding, true)
        }
        return (
            .ok(check, "The login role may take on the four roles of requests, and none can go past the policies."),
            true
        )
    }

    private static func rights(_ lacks: [String]) -> Finding {
        lacks.isEmpty
            ? .ok("rights", "The roles have the rights that they need.")
            : .problem(
                "rights", "Rights are missing: \(some(lacks)).",
                "Run `postline migrate`, which grants them again."
            )
    }

    /// Reports our roles that can log in or are members of others, which gives them additional rights.
    private static func widened(_ answer: QueryResult) -> [Finding] {
        answer.indices.flatMap { row -> [Finding] in
            guard let name = answer.text("name", row) else { return [] }
            var findings: [Finding] = []
            if answer.isTrue("can_login", row) {
                findings.append(
                    .problem(
                        check, "The role \(name) can log in, which only the login role may.",
                        "alter role \(name) nologin;"))
            }
            if let groups = answer.text("member_of", row) {
                findings.append(
                    .problem(
                        check, "The role \(name) is a member of \(groups), and may take on what that may do.",
                        "revoke \(groups) from \(name);"))
            }
            return findings
        }
    }

    private static func excess(_ granted: QueryResult) -> [Finding] {
        let given = ExpectedSchema.rights
        let excesses = granted.indices.filter { row in
            !["granted", "wider"].contains { granted.text($0, row).map(given.contains) ?? false }
        }
        func finding(_ rows: [Int], _ advice: String) -> [Finding] {
            let names = rows.compactMap { granted.text("granted", $0) }
            return names.isEmpty
                ? [] : [.problem("rights", "There are rights that Postline does not give: \(some(names)).", advice)]
        }
        let left = excesses.filter { granted.text("statement", $0) != nil }
        let findings =
            finding(
                excesses.filter { granted.text("statement", $0) == nil },
                "Revoke them, or run `postline migrate`, which takes away what a role should not have.")
            + finding(left, left.compactMap { granted.text("statement", $0) }.joined(separator: " "))
        return findings.isEmpty
            ? [.ok("rights", "Nobody has rights on Postline's tables and functions that Postline does not give.")]
            : findings
    }

    /// Returns the first names of a list, as many as fit into a line.
    static func some(_ names: [String]) -> String {
        let shown = names.prefix(5).joined(separator: ", ")
        return names.count > 5 ? "\(shown), and \(names.count - 5) more" : shown
    }
}
