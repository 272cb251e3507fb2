public import Foundation

/// The state of the connection to the server.
public enum ConnectionState: Sendable, Hashable {
    /// No user is signed in. The error says why, if the server ended the session.
    case signedOut(PostlineError?)
    /// There has been no connection since this time. Stored data is shown, and the outbox keeps changes.
    case offline(since: Date)
    /// The client is connecting.
    case connecting
    /// The client is connected and fetches the changes since the last connection.
    case catchingUp
    /// The store has all changes, and new ones arrive as they commit.
    case live
}
