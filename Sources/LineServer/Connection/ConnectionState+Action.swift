import Messaging

extension ConnectionState {
    /// What is to be done next.
    enum Action: Equatable {
        /// A line, or what was wrong with one: it is at work until ``lineIsDone(_:)``.
        case begin(LineFramer.Event)

        /// The batch at work has its next request done: there is room for the answer, or nobody to write it to.
        case resumeBatch

        /// The request at work has gone on for longer than anything that could hold it: what is owed for its line is
        /// answered in its place.
        case timeOutRequest

        /// The socket is read from.
        case read

        /// What ``nextWriteBatch(_:)`` gives is written.
        case flush

        /// At the end of this turn of the loop ``flushIsDue()`` is asked.
        case flushLater

        /// Nothing more is asked of the session.
        case endSession

        /// The connection is closed, when what was written has left or at once.
        case close(Close)

        /// What comes before lines was not done in time: the connection is closed.
        case timeOutHandshake

        /// Something that metrics count.
        case count(Event)
    }

    enum Close: Equatable {
        /// The client is told that nothing follows; it may still send.
        case output

        case whole

        /// Past TLS, which would wait for the client to end it too.
        case cut
    }

    enum Event: Equatable {
        case lagged
        case goodbye(GoodbyeCode)
    }
}
