import Concurrency
import Synchronization

/// Wakes one task on a reactor's thread. Signals before the task looks are merged.
///
/// A signal costs a thread change only if the task waits for it.
package actor WakeSignal {
    private nonisolated let reactor: Reactor
    package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe reactor.asUnownedSerialExecutor() }

    private nonisolated let isSignalled = Atomic(false)
    private var waiter: CheckedContinuation<Void, Never>?
    private var isPausing = false
    private var timer: PollSet.Watch?

    /// Creates a signal whose reader lives on that reactor.
    package init(on reactor: Reactor) { self.reactor = reactor }

    deinit {
        if let timer { reactor.remove(timer, thenDrop: Transfer(())) }
    }

    /// Wakes the reader. Any thread may call it.
    package nonisolated func signal() {
        if isSignalled.exchange(true, ordering: .acquiringAndReleasing) { return }
        reactor.submit { self.assumeIsolated { if !$0.isPausing { $0.wake() } } }
    }

    /// Returns after a signal since the last call, but not before `time`. For one task at a time.
    ///
    /// - Throws: if the task is cancelled.
    package func next(notBefore time: ContinuousClock.Instant? = nil) async throws(CancellationError) {
        if let time { try await pause(until: time) }
        while !isSignalled.exchange(false, ordering: .acquiringAndReleasing) {
            if Task.isCancelled { throw CancellationError() }
            await wait()
        }
    }

    /// Returns after a signal since the last call, or at that time. For one task at a time.
    ///
    /// - Returns: true after a signal.
    /// - Throws: if the task is cancelled.
    @discardableResult
    package func next(by time: ContinuousClock.Instant) async throws(CancellationError) -> Bool {
        while !isSignalled.exchange(false, ordering: .acquiringAndReleasing) {
            if .now >= time { return false }
            if Task.isCancelled { throw CancellationError() }
            wake(at: time)
            await wait()
        }
        return true
    }

    /// Returns at that time, with or without a signal.
    ///
    /// - Throws: if the task is cancelled.
    package func pause(until time: ContinuousClock.Instant) async throws(CancellationError) {
        isPausing = true
        defer { isPausing = false }
        while .now < time {
            if Task.isCancelled { throw CancellationError() }
            wake(at: time)
            await wait()
        }
    }

    private func wake(at time: ContinuousClock.Instant) {
        let timer = timer ?? reactor.watch(nil) { [weak self] _ in self?.assumeIsolated { $0.wake() } }
        self.timer = timer
        reactor.setDeadline(time, of: timer)
    }

    private func wait() async {
        await withTaskCancellationHandler {
            await withSuspension { caller in
                if Task.isCancelled || !isPausing && isSignalled.load(ordering: .acquiring) { return .resume(()) }
                waiter = caller
                return .suspend
            }
        } onCancel: {
            reactor.submit { self.assumeIsolated { $0.wake() } }
        }
    }

    private func wake() {
        waiter?.resume()
        waiter = nil
    }
}
