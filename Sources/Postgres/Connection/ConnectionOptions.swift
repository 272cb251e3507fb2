package import Logging

/// Options for connections.
package struct ConnectionOptions: Sendable {
    /// The timeout for connecting, including name resolution and authentication, shared by all servers.
    /// `connect_timeout` in the connection string takes precedence and applies to each server.
    package var connectTimeout: Duration = .seconds(5)
    /// The `application_name`, unless the connection string or `PGAPPNAME` sets another.
    package var applicationName = "postline"
    /// True if statements are prepared. A pooler may change the backend between transactions and lose prepared
    /// statements, so through a pooler each call is parsed and planned again.
    package var preparesStatements = true
    /// The logger for server notices (at debug) and for messages of pool and listener.
    package var logger = Logger(label: "postgres")

    /// The defaults.
    package init() {}
}
