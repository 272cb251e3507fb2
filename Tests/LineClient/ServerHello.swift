import WireProtocol

/// The server's first line: `server.hello`.
package struct ServerHello: Sendable, Equatable {
    package let version: String
    package let protocolVersion: Int
    /// The longest request line that the server accepts, in bytes without the line feed.
    package let maximumLineBytes: Int
    /// The number of unanswered requests that the server accepts.
    package let maximumInFlight: Int
    /// The seconds between pings on a quiet connection.
    package let pingSeconds: Int

    /// Returns nil if the server is not a Postline server.
    init?(_ params: JSONObject) {
        guard params["server"]?.stringValue == "postline" else { return nil }
        version = params["version"]?.stringValue ?? ""
        protocolVersion = params["protocol"]?.integerValue ?? 1
        maximumLineBytes = params["max_line_bytes"]?.integerValue ?? 65_536
        maximumInFlight = params["max_in_flight"]?.integerValue ?? 64
        pingSeconds = params["ping_seconds"]?.integerValue ?? 30
    }
}
