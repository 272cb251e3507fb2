extension Connection {
    /// Lifts the time limits that the role has, in a transaction of its own: a limit holds until its transaction ends.
    ///
    /// A limit of a millisecond may end the first statement of a session, which fills the caches. The next takes less.
    func liftLimits(_ process: [String]) async throws(PostgresError) {
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
