public import Logging

/// Options for connections.
public struct ConnectionOptions: Sendable {
    /// The timeout for connecting, including name resolution and authentication, shared by all servers.
    /// `connect_timeout` in the connection string takes precedence and applies to each server.
    public var connectTimeout: Duration = .seconds(5)
    /// The `application_name`, unless the connection string or `PGAPPNAME` sets another.
    public var applicationName = "postline"
    /// True if statements are prepared. A pooler may change the backend between transactions and lose prepared
    /// statements, so through a pooler each call is parsed and planned again.
    public var preparesStatements = true
    /// The logger for server notices (at debug) and for messages of pool and listener.
    public var logger = Logger(label: "postgres")

    /// The defaults.
    public init() {}
}
