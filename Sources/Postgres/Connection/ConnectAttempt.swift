import Concurrency

/// A connection attempt on a separate thread.
///
/// libpq blocks while it resolves names, and computes passwords (SCRAM) and TLS for milliseconds, which on the reactor
/// would delay every other connection. The caller never waits longer than the timeout, even if name resolution hangs.
actor ConnectAttempt {
    private let reactor: Reactor
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe reactor.asUnownedSerialExecutor() }

    private var caller: CheckedContinuation<Result<Transfer<ConnectionHandle>, PostgresError>, Never>?
    private var timer: PollSet.Watch?

    init(_ reactor: Reactor) { self.reactor = reactor }

    func connect(
        _ url: String, _ options: ConnectionOptions
    ) async throws(PostgresError) -> Transfer<ConnectionHandle> {
        let conninfo = try Conninfo(url, applicationName: options.applicationName)
        let timeout = conninfo.connectTimeout ?? options.connectTimeout
        let result = await withTaskCancellationHandler {
            await withSuspension { caller in
                self.caller = caller
                start(conninfo, timeout, options)
                return .suspend
            }
        } onCancel: {
            reactor.submit { self.assumeIsolated { $0.finish(.failure(.cancelled)) } }
        }
        return try result.get()
    }

    private func start(_ conninfo: Conninfo, _ timeout: Duration, _ options: ConnectionOptions) {
        let timer = reactor.watch(nil) { [weak self] _ in
            self?.assumeIsolated { $0.finish(.failure(.connectFailed("no response within \(timeout)"))) }
        }
        self.timer = timer
        // A little later than the thread's own timeout, whose error is more precise.
        reactor.setDeadline(.now + timeout + .milliseconds(100), of: timer)
        // Several servers with individual timeouts may take longer in total.
        let extend: @Sendable (Duration) -> Void = { [reactor] total in
            guard total > timeout else { return }
            reactor.submit {
                self.assumeIsolated { attempt in
                    guard let timer = attempt.timer else { return }
                    reactor.setDeadline(.now + total + .milliseconds(100), of: timer)
                }
            }
        }
        do {
            try DetachedThread.start(name: "connect") {
                let result: Result<Transfer<ConnectionHandle>, PostgresError>
                do throws(PostgresError) {
                    result = .success(
                        try ConnectionHandle.open(
                            conninfo, timeout: timeout, logger: options.logger, willTry: extend))
                } catch {
                    result = .failure(error)
                }
                self.reactor.submit { self.assumeIsolated { $0.finish(result) } }
            }
        } catch {
            finish(.failure(.connectFailed("\(error)")))
        }
    }

    /// Resumes the caller with the first result. A connection that arrives too late is closed.
    private func finish(_ result: Result<Transfer<ConnectionHandle>, PostgresError>) {
        if let timer { reactor.remove(timer) }
        timer = nil
        caller?.resume(returning: result)
        caller = nil
    }
}
