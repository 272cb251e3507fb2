/// An error as a client gets it.
public struct ProtocolError: Error, Sendable, Equatable {
    /// The stable name to switch on.
    public let code: ErrorCode

    /// A sentence for a person, which says the way out where there is one.
    public let message: String

    /// The members of `error.data` beside `code` and `retryable`, such as `field`.
    public let data: [JSONObject.Member]

    public init(_ code: ErrorCode, _ message: String, data: [JSONObject.Member] = []) {
        self.code = code
        self.message = message
        self.data = data
    }
}
