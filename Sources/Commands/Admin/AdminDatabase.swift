import Postgres

/// The database, accessed as its owner.
struct AdminDatabase: Sendable {
    let url: String

    /// True if another server manages the accounts.
    let isExternal: Bool

    /// True if the database belongs to `postline dev`.
    let isDevWorld: Bool

    /// Calls a function in its own transaction, and returns its JSON text.
    ///
    /// - Throws: `AdminFailure`.
    func call(_ function: Statement, _ parameters: [String?]) async throws -> String {
        do {
            let answer = try await Connection.with(url, on: Reactor(name: "admin")) { connection in
                try await connection.run([Call(function, parameters)], deadline: Self.waitTimeout)[0]
            }
            return answer.count == 1 ? answer.text(0, 0) ?? "null" : "null"
        } catch let error as PostgresError {
            throw AdminFailure(error, isDevWorld: isDevWorld)
        }
    }

    /// The statement timeout. A deletion writes to every group of the user, each under its lock.
    private static let waitTimeout: Duration = .seconds(60)
}
