public import Logging

/// How connections are made and used.
public struct ConnectionOptions: Sendable {
    /// How long connecting may take, name resolution and authentication included. Several servers share it;
    /// `connect_timeout` in the connection string goes first, and is of each server.
    public var connectTimeout: Duration = .seconds(5)
    /// What the server shows as `application_name` where neither the connection string nor `PGAPPNAME` names another.
    public var applicationName = "postline"
    /// Whether statements are prepared under their names, unless a pooler stands between: it may change the backend
    /// between transactions and not carry prepared statements over, so there each call is parsed and planned anew.
    public var preparesStatements = true
    /// Where notices of the server go, at debug, and what the pool and the listener have to say.
    public var logger = Logger(label: "postgres")

    /// The defaults.
    public init() {}
}
