import ArgumentParser

/// `postline admin`.
struct Admin: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "admin",
        abstract: "See to users, mails and pushes, as an operator.",
        discussion: """
            Works over the database, as its owner: POSTLINE_ADMIN_DATABASE_URL, or POSTLINE_DATABASE_URL where that is \
            not set; --directory .postline for the dev world. Nodes need not run, and those that do hear of it within a \
            second. Each order is noted in the audit (`postline admin log`), with who gave it.

            A USER is an id, an email address or a username. With --json one JSON value is printed. Exit code 0 where it \
            was done, 1 where it failed, 2 where it was asked for wrongly, 3 where there is no such thing.
            """,
        subcommands: [
            AdminUser.self, AdminSessions.self, AdminEndSessions.self, AdminDisable.self, AdminEnable.self,
            AdminDelete.self, AdminMail.self, AdminRetryMail.self, AdminPush.self, AdminRetryPush.self, AdminLog.self,
        ])
}
