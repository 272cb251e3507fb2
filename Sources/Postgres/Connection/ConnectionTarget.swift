/// The user and password of a connection string, as libpq parses it.
package struct ConnectionTarget: Sendable {
    /// The user name, or nil.
    package let user: String?

    /// The password, or nil.
    package let password: String?

    /// Parses a URL (`postgresql://…`) or keywords (`host=… dbname=…`).
    ///
    /// - Throws: `connectFailed` if libpq cannot parse it.
    package init(_ url: String) throws(PostgresError) {
        let parameters = try Conninfo(url, applicationName: "").parameters
        user = parameters.first { $0.keyword == "user" }?.value
        password = parameters.first { $0.keyword == "password" }?.value
    }
}
