internal import Messaging
internal import Postgres
internal import PrivatePostgres

/// The database server: version, encoding, clock.
struct ServerCheck: Sendable {
    let database: DatabaseUnderTest

    func findings() async throws(PostgresError) -> [Finding] {
        let server = try await database.ask(.server)
        var findings = [Self.version(server.integer("version_number"), server.text("version") ?? "")]
        if server.isTrue("is_standby") {
            findings.append(
                .problem(
                    "database", "The database is a standby and takes no writes.",
                    "Let POSTLINE_DATABASE_URL lead to the primary."))
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
    static let testedVersions = [15, 17]

    static func version(_ number: Int, _ text: String) -> Finding {
        let major = number / 10_000
        let oldest = PostgresInstallation.oldestMajorVersion
        guard major >= oldest else {
            return .problem("version", "PostgreSQL \(text) is too old.", "Move to PostgreSQL \(oldest) or later.")
        }
        guard testedVersions.contains(major) else {
            let tested = testedVersions.map(String.init).joined(separator: " or ")
            return .warning(
                "version", "Postline is not tested with PostgreSQL \(text).",
                "Prefer PostgreSQL \(tested), which it is tested with.")
        }
        return .ok("version", "PostgreSQL \(text).")
    }

    /// - Parameters:
    ///   - ahead: how far the database's clock is ahead of this machine's, in seconds.
    ///   - give: how far that may be off, since the answer took its time.
    static func clock(ahead: Double, give: Double) -> Finding {
        let tenths = (abs(ahead) * 10).rounded() / 10
        guard abs(ahead) - give > 2 else { return .ok("clock", "The clocks here and there agree.") }
        return .warning(
            "clock", "The database's clock is \(tenths) s \(ahead > 0 ? "ahead of" : "behind") this machine's.",
            "Let both follow a time server (chrony, systemd-timesyncd): tokens are good by one clock, and cooldowns by "
                + "the other.")
    }
}
