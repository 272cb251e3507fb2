import ChangeFeed
import Logging

/// Checks that notifications arrive over the feed's connection.
struct ListenCheck: Sendable {
    let settings: SettingsUnderTest
    let url: String

    /// True if the database URL leads to a pooler.
    let isPooled: Bool
    let logger: Logger

    private static let check = "listen"

    func examine(_ report: (Finding) -> Void) async {
        let own = settings.listenDatabaseURL
        let variable = own == nil ? "POSTLINE_DATABASE_URL" : "POSTLINE_LISTEN_DATABASE_URL"
        do {
            let isHeard = try await NotifyPreflight.isHeard(
                notifyingOver: url, listeningOver: own ?? url, logger: logger)
            report(isHeard ? .ok(Self.check, "Notifications arrive over \(variable).") : deaf(hasOwn: own != nil))
        } catch {
            report(
                .problem(
                    Self.check, "LISTEN over \(variable) could not be tried: \(error)",
                    "Check host, port, database, role and password there."))
        }
    }

    private func deaf(hasOwn: Bool) -> Finding {
        if hasOwn {
            return .problem(
                Self.check,
                "Notifications sent over POSTLINE_DATABASE_URL do not arrive over POSTLINE_LISTEN_DATABASE_URL.",
                "It must lead to the same database, and not through a pooler in transaction mode: set it to a URL that "
                    + "leads to PostgreSQL itself.")
        }
        let why = isPooled ? "it leads to a pooler in transaction mode" : "it shares connections between sessions"
        return .problem(
            Self.check, "LISTEN does not work over POSTLINE_DATABASE_URL: \(why).",
            "Set POSTLINE_LISTEN_DATABASE_URL to a URL that leads to PostgreSQL itself, or to a pooler in session mode."
        )
    }
}
