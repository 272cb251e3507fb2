package import NIOCore

/// The memory and time that the connections of an HTTP server may use.
package struct HTTPBounds: Sendable {
    /// The largest buffered body of a request, in bytes.
    package var maxBodyBytes = 65_536

    /// The largest head of a request, in bytes and in fields.
    package var maxHeadBytes = 16_384
    package var maxHeadFields = 100

    /// The time for a complete head of a request, including the PROXY header and the TLS handshake.
    package var headTimeout = TimeAmount.seconds(10)

    /// The time for a buffered body after its head.
    package var bodyTimeout = TimeAmount.seconds(30)

    /// The time for a streamed body, and the longest pause between two pieces of it.
    package var largeBodyTimeout = TimeAmount.seconds(600)
    package var bodyIdleTimeout = TimeAmount.seconds(10)

    /// The time for processing a request. It must exceed every timeout inside the handler.
    package var requestTimeout = TimeAmount.seconds(75)

    /// The time in which a client must read a piece of a response.
    package var writeTimeout = TimeAmount.seconds(30)

    /// The time after which a connection without requests is closed.
    package var idleTimeout = TimeAmount.seconds(75)

    /// The time for which input is read and discarded after the last response, so that the response arrives (a lingering
    /// close).
    package var lingerTimeout = TimeAmount.seconds(2)

    /// The most connections; nil if only admission slots limit them. Beyond it the connection with the oldest response is
    /// closed.
    package var maxConnections: Int?

    /// The most bytes of unwritten responses of all clients together. Beyond it the connections with the oldest unwritten
    /// responses are closed.
    package var maxUnwrittenBytes = 1 << 27

    /// The time for requests in progress to complete during shutdown.
    package var shutdownTimeout: Duration = .seconds(8)

    package init() {}
}
