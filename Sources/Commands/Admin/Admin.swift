import ArgumentParser

/// `postline admin`.
struct Admin: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "admin",
        abstract: "Manage users, reports, held messages, mails and pushes as an operator.",
        discussion: """
            Works on the database as its owner: POSTLINE_ADMIN_DATABASE_URL, or else POSTLINE_DATABASE_URL; \
            --directory .postline for the dev world. Nodes need not run; those that do apply a change within a second. \
            Each command is recorded with its operator (`postline admin log`).

            A USER is an id, an email address or a username. With --json one JSON value is printed. Exit codes: 0 on \
            success, 1 on failure, 2 for wrong usage, 3 if the user, mail or push does not exist.
            """,
        subcommands: [
            AdminUser.self, AdminSessions.self, AdminEndSessions.self, AdminDisable.self, AdminEnable.self,
            AdminDelete.self, AdminMail.self, AdminRetryMail.self, AdminPush.self, AdminRetryPush.self,
            AdminModerator.self, AdminReports.self, AdminFilter.self, AdminHeld.self, AdminLog.self,
        ])
}
