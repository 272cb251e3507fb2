package import NIOCore
package import WireProtocol

/// A notification of the server: `changes`, `sync.lagged`, `server.ping`, `server.goodbye`.
package struct ServerNotification: Sendable {
    package let method: String
    /// The params as JSON text.
    package let text: ByteBuffer
    /// The time at which the line was read from the socket.
    package let received: ContinuousClock.Instant

    /// Returns the params, parsed at each call.
    /// - Throws: `ConnectionError.malformed`.
    package func params() throws -> JSONObject {
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
