import Messaging

/// What the server says of itself before anything else: `server.hello`.
public struct ServerHello: Sendable, Equatable {
    public let version: String
    public let protocolVersion: Int
    /// The longest request line that it takes, in bytes without the line end.
    public let maximumLineBytes: Int
    /// How many requests it takes before it has answered the first.
    public let maximumInFlight: Int
    /// The seconds between pings on a quiet connection.
    public let pingSeconds: Int

    /// Nil unless it is Postline's.
    init?(_ params: JSONObject) {
        guard params["server"]?.stringValue == "postline" else { return nil }
        version = params["version"]?.stringValue ?? ""
        protocolVersion = params["protocol"]?.integerValue ?? 1
        maximumLineBytes = params["max_line_bytes"]?.integerValue ?? 65_536
        maximumInFlight = params["max_in_flight"]?.integerValue ?? 64
        pingSeconds = params["ping_seconds"]?.integerValue ?? 30
    }
}
