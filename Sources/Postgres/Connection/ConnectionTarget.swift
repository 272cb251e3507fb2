/// Whom a connection string logs in as, the way libpq reads it.
public struct ConnectionTarget: Sendable {
    /// The user that it names.
    public let user: String?

    /// The password that it holds.
    public let password: String?

    /// Takes apart a URL (`postgresql://…`) or keywords (`host=… dbname=…`).
    ///
    /// - Throws: `connectFailed` where libpq cannot read it.
    public init(_ url: String) throws(PostgresError) {
        let parameters = try Conninfo(url, applicationName: "").parameters
        user = parameters.first { $0.keyword == "user" }?.value
        password = parameters.first { $0.keyword == "password" }?.value
    }
}
