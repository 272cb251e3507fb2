import Postgres
import PrivatePostgres
import Schema

/// Checks the database server: version, encoding, collation, clock, and whether it accepts writes.
struct ServerCheck: Sendable {
    let database: DatabaseUnderTest

    func findings() async throws(PostgresError) -> [Finding] {
        let server = try await database.query(.server)
        var findings = [Self.version(server.integer("version_number"), server.text("version") ?? "")]
        if server.isTrue("is_standby") {
            findings.append(
                .problem(
                    "database", "The database is a standby and accepts no writes.",
                    "Let POSTLINE_DATABASE_URL lead to the primary."))
        } else if server.text("read_only") == "on" {
            findings.append(
                .problem(
                    "database", "The database accepts no writes: default_transaction_read_only is on.",
                    "See why it was set (a host may do so when the disk is full), then alter database "
                        + "\(server.text("database") ?? "…") reset default_transaction_read_only, or if a role or "
                        + "postgresql.conf sets it, there."))
        }
        if server.isTrue("has_other_collation") {
            findings.append(
                .warning(
                    "encoding",
                    "The system's collations have another version than those that the database's indexes were made with.",
                    "Run reindex database, then alter database \(server.text("database") ?? "…") refresh collation "
                        + "version."))
        }
        if server.isTrue("has_temporary") {
            findings.append(
                .warning(
                    "rights", "Everybody may create temporary objects in the database.",
                    "Run `postline migrate` as the owner of the database, which revokes it, or do so yourself: revoke "
                        + "temporary on database \(server.text("database") ?? "…") from public."))
        }
        if !server.isTrue("has_trigrams") {
            findings.append(
                .problem(
                    "database", "The extension pg_trgm is not in the database: searches fail.",
                    "Restore it with its indexes: create extension pg_trgm, then restore the indexes "
                        + "user_profiles_search and search_names_likeness from the dump."))
        }
        let encoding = server.text("encoding") ?? ""
        findings.append(
            encoding == "UTF8"
                ? .ok("encoding", "The database keeps texts as UTF8.")
                : .problem(
                    "encoding", "The database keeps texts as \(encoding), which cannot hold every message.",
                    "Make a database with encoding 'UTF8' and template template0, and move there with pg_dump."))
        findings.append(Self.clock(ahead: database.clock.ahead, give: database.clock.give))
        return findings
    }

    /// The major versions of PostgreSQL that Postline is tested with.
    static let testedVersions = [15, 17, 18]

    static func version(_ number: Int, _ text: String) -> Finding {
        let major = number / 10_000
        let oldest = PostgresInstallation.oldestMajorVersion
        guard major >= oldest else {
            return .problem("version", "PostgreSQL \(text) is too old.", "Move to PostgreSQL \(oldest) or later.")
        }
        guard testedVersions.contains(major) else {
            let tested = testedVersions.map(String.init).joined(separator: ", ")
            return .warning(
                "version", "Postline is not tested with PostgreSQL \(text).",
                "Prefer one of PostgreSQL \(tested), which it is tested with.")
        }
        return .ok("version", "PostgreSQL \(text).")
    }

    /// - Parameters:
    ///   - ahead: the difference of the database's clock to this machine's, in seconds.
    ///   - give: its uncertainty, the round-trip time of the query.
    static func clock(ahead: Double, give: Double) -> Finding {
        let tenths = (abs(ahead) * 10).rounded() / 10
        guard abs(ahead) - give > 2 else { return .ok("clock", "The clocks here and there agree.") }
        return .warning(
            "clock", "The database's clock is \(tenths) s \(ahead > 0 ? "ahead of" : "behind") this machine's.",
            "Let both follow a time server (chrony, systemd-timesyncd): tokens are good by one clock, and cooldowns by "
                + "the other.")
    }
}
