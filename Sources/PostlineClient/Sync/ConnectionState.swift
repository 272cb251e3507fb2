public import Foundation

/// How this device stands to the server.
public enum ConnectionState: Sendable, Hashable {
    /// Nobody is signed in. The error is why, where the server ended the session.
    case signedOut(PostlineError?)
    /// There is no connection since then. What is here can be read, and what is written is kept.
    case offline(since: Date)
    /// A connection is being made.
    case connecting
    /// What has changed meanwhile is being fetched.
    case catchingUp
    /// All there is is here, and each change arrives as it happens.
    case live
}
