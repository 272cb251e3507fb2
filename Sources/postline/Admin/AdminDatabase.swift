internal import Postgres

/// The database of an operator, as its owner.
struct AdminDatabase: Sendable {
    let url: String

    /// Whether another server keeps the accounts.
    let isExternal: Bool

    /// Whether it is that of `postline dev`.
    let isDevWorld: Bool

    /// Calls a function in a transaction of its own, and gives the JSON text that it answers.
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

    /// A deletion writes to every group of the user, each under its lock.
    private static let waitTimeout: Duration = .seconds(60)
}
