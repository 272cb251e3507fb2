import Synchronization
import Threads

/// Wakes one task on a reactor's thread: any number of signals before it looks are one.
///
/// A signal costs a change of threads only where the task waits for it.
public actor WakeSignal {
    private nonisolated let reactor: Reactor
    public nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe reactor.asUnownedSerialExecutor() }

    private nonisolated let isSignalled = Atomic(false)
    private var waiter: CheckedContinuation<Void, Never>?
    private var isPausing = false
    private var timer: PollSet.Watch?

    /// A signal whose one reader lives on that thread.
    public init(on reactor: Reactor) { self.reactor = reactor }

    deinit {
        if let timer { reactor.remove(timer, thenDrop: Transfer(())) }
    }

    /// Wakes the reader; may be called from any thread.
    public nonisolated func signal() {
        if isSignalled.exchange(true, ordering: .acquiringAndReleasing) { return }
        reactor.submit { self.assumeIsolated { if !$0.isPausing { $0.wake() } } }
    }

    /// Returns once there was a signal since the last time, and not before `time`. For one task at a time.
    ///
    /// - Throws: where the task is cancelled.
    public func next(notBefore time: ContinuousClock.Instant? = nil) async throws(CancellationError) {
        if let time { try await pause(until: time) }
        while !isSignalled.exchange(false, ordering: .acquiringAndReleasing) {
            if Task.isCancelled { throw CancellationError() }
            await wait()
        }
    }

    /// Returns once there was a signal since the last time, or at that time. For one task at a time.
    ///
    /// - Throws: where the task is cancelled.
    public func next(by time: ContinuousClock.Instant) async throws(CancellationError) {
        while !isSignalled.exchange(false, ordering: .acquiringAndReleasing), .now < time {
            if Task.isCancelled { throw CancellationError() }
            wake(at: time)
            await wait()
        }
    }

    /// Returns at that time, whether there is a signal or not.
    ///
    /// - Throws: where the task is cancelled.
    public func pause(until time: ContinuousClock.Instant) async throws(CancellationError) {
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
