import ChangeFeed
import WireProtocol

extension ConnectionStateMachine {
    /// An action for the connection handler.
    enum Action: Equatable {
        /// Execute a line, or report a framing error. It is current until ``lineIsDone()``.
        case begin(LineFramer.Event)

        /// Execute the next request of the current batch: there is room for its response, or the connection is closing.
        case resumeBatch

        /// Answer the open requests of the current line, which has exceeded the request timeout.
        case timeOutRequest

        /// Read from the socket.
        case read

        /// Write the lines of ``nextWriteBatch(_:)``.
        case flush

        /// Call ``flushIsDue()`` at the end of this turn of the loop.
        case flushLater

        /// End the session.
        case endSession

        /// Close the connection or its output.
        case close(Close)

        /// Close a connection that has exceeded the time for its handshake.
        case timeOutHandshake

        /// Count an event in the metrics.
        case count(Event)
    }

    enum Close: Equatable {
        /// Close the output. The client may still send.
        case output

        case whole

        /// Close without the TLS close handshake, which would wait for the client.
        case cut
    }

    enum Event: Equatable {
        case lagged
        case goodbye(GoodbyeCode)
    }
}
