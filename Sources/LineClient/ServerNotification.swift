public import Messaging
public import NIOCore

/// A notification of the server: `changes`, `sync.lagged`, `server.ping`, `server.goodbye`.
public struct ServerNotification: Sendable {
    public let method: String
    /// The params as JSON text.
    public let text: ByteBuffer
    /// The time at which the line was read from the socket.
    public let received: ContinuousClock.Instant

    /// Returns the params, parsed at each call.
    /// - Throws: `ConnectionError.malformed`.
    public func params() throws -> JSONObject {
        guard case .object(let object) = try parsed(text) else {
            throw ConnectionError.malformed("a notification's params are not an object")
        }
        return object
    }
}

/// Parses JSON text from the server.
func parsed(_ text: ByteBuffer) throws -> JSON {
    do {
        return try JSON(parsing: text)
    } catch {
        throw ConnectionError.malformed("\(error)")
    }
}
