extension Connection {
    /// Lifts the role's timeouts in a separate transaction, since a timeout holds until its transaction ends.
    ///
    /// A timeout of a millisecond may end a session's first statement, which fills caches. The next one is faster.
    func liftTimeouts(_ process: [String]) async throws(PostgresError) {
        for _ in 1...20 {
            do {
                _ = try await run([Call(SessionSettings.limits, process)], deadline: options.connectTimeout)
                return
            } catch .server(let error) where error.sqlState == .queryCanceled {
                continue
            }
        }
        _ = try await run([Call(SessionSettings.limits, process)], deadline: options.connectTimeout)
    }
}
