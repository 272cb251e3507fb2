package import NIOCore

/// What one connection of an HTTP server may cost.
package struct HTTPBounds: Sendable {
    /// The largest body of a request, in bytes.
    package var maxBodyBytes = 65_536

    /// The largest head of a request, in bytes and in fields.
    package var maxHeadBytes = 16_384
    package var maxHeadFields = 100

    /// How long a request's head may take to come in whole, the PROXY header and TLS's handshake included.
    package var headTimeout = TimeAmount.seconds(10)

    /// How long a request's body may take after its head.
    package var bodyTimeout = TimeAmount.seconds(30)

    /// How long a body that is not held may take, and how long none of it may come.
    package var largeBodyTimeout = TimeAmount.seconds(600)
    package var bodySilence = TimeAmount.seconds(10)

    /// How long a request may be at work before it is given up: longer than anything that could hold it.
    package var requestTimeout = TimeAmount.seconds(75)

    /// How long a client may take none of an answer.
    package var writeTimeout = TimeAmount.seconds(30)

    /// How long a connection is kept on which nothing is asked.
    package var idleTimeout = TimeAmount.seconds(75)

    /// How long what a client still sends is read and discarded after the last answer, so that the answer arrives.
    package var lingerTimeout = TimeAmount.seconds(2)

    /// How many connections there may be; nil: as many as the place that each needs lets there be. Past it the one goes
    /// that has been without an answer for longest.
    package var maxConnections: Int?

    /// The most bytes of answers that may wait for all clients together. Past it the connections go whose answers have
    /// waited for longest.
    package var maxUnwrittenBytes = 1 << 28

    /// How long requests that were taken may go on after the server was told to stop.
    package var shutdownTimeout: Duration = .seconds(8)

    package init() {}
}
