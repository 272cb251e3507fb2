import Foundations

/// Ending the sessions at the server that the user has signed out of without a connection.
extension PostlineClient {
    var endedSessions: EndedSessions { EndedSessions(secrets: secrets) }

    /// Ends the kept sessions, the oldest first. While the server cannot be reached, it tries again with a back-off, and
    /// at each call.
    func endKeptSessions() {
        guard endingTask == nil else { return logoutSignal.signal() }
        // The task ends with the last session, or with the client.
        endingTask = Task { [weak self, sessions = endedSessions, locks, server, connector, logoutSignal] in
            var backoff = Backoff.reconnect
            while self?.mayEndSessions == true, let tokens = sessions.first() {
                do throws(PostlineError) {
                    try await Self.endSession(tokens, server, connector)
                } catch  where error.isRetryable || error.code == .internalError {
                    await logoutSignal.wait(atMost: backoff.next())
                    continue
                } catch {
                    // The session has ended already, or the server does not accept its tokens.
                }
                do { try locks.lockingFolder { try sessions.remove(tokens) } } catch { break }
            }
            self?.endingTask = nil
        }
    }

    private var mayEndSessions: Bool { !isDisconnecting && !isInBackground }

    private nonisolated static func endSession(
        _ tokens: Tokens, _ server: Server, _ connector: any Connector
    ) async throws(PostlineError) {
        let connection = try await LineConnection.connect(to: server, by: connector)
        defer { connection.close() }
        try await EndedSessions.end(tokens, on: connection)
    }
}
