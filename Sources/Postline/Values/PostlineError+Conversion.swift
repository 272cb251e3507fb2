extension PostlineError {
    /// Creates the error that an app sees for an error of the device: of its store, its secrets or its files.
    init(converting error: any Error) {
        switch error {
        case let error as PostlineError: self = error
        case is CancellationError: self.init(.cancelled, "The task was cancelled.", isRetryable: true)
        case is EncodingError: self.init(.invalidParams, "The values cannot be encoded as JSON: \(error)")
        case _ where Store.isClosed(error):
            self.init(.signedOut, "The user has signed out, or has signed in again, meanwhile.")
        default: self.init(.storeUnusable, "The data on this device cannot be read or written: \(error)")
        }
    }

    /// True if no response arrived, so that the server may have executed the request.
    var isUncertain: Bool { code == .offline || code == .cancelled }
}

/// Runs a body, and converts its errors to those that an app sees.
func convertingErrors<Value>(_ body: () async throws -> Value) async throws(PostlineError) -> Value {
    do { return try await body() } catch { throw PostlineError(converting: error) }
}

/// Runs a body, and converts its errors to those that an app sees.
func convertingErrors<Value>(_ body: () throws -> Value) throws(PostlineError) -> Value {
    do { return try body() } catch { throw PostlineError(converting: error) }
}
