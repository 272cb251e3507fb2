import Synchronization
import Threads

/// One thread that polls the sockets of many connections and is the executor of their actors.
///
/// libpq is touched by this thread alone: never by Swift's shared pool, whose few threads must not be held up by it, and
/// never by an event loop of the network side. What sockets and deadlines tell is handled here, one after another.
///
/// The thread ends when the last reference to the reactor is gone.
public final class Reactor: SerialExecutor, TaskExecutor, Sendable {
    private let loop: ReactorLoop

    /// Starts the thread.
    ///
    /// A process that can have neither a thread nor a pipe is ended with a sentence: nothing could be served.
    /// - Parameter name: How debuggers show the thread; Linux keeps the first 15 bytes.
    public init(name: String) {
        let loop = ReactorLoop()
        self.loop = loop
        do {
            try DetachedThread.start(name: name) { loop.run() }
        } catch {
            fatalError("The reactor \(name) cannot start: \(error).")
        }
    }

    deinit { loop.stop() }

    public func enqueue(_ job: consuming ExecutorJob) {
        loop.enqueue(.job(UnownedJob(job), self))
    }

    public func asUnownedSerialExecutor() -> UnownedSerialExecutor {
        unsafe UnownedSerialExecutor(ordinary: self)
    }

    /// What the runtime asks when an actor's state is touched outside of its jobs, as by a watch's handler.
    public func checkIsolated() {
        precondition(loop.isOnThread, "this belongs to a reactor's thread")
    }

    public func isIsolatingCurrentContext() -> Bool? { loop.isOnThread }

    /// Runs `body` on the thread, after all that was enqueued before it; may be called from any thread.
    public func submit(_ body: @escaping @Sendable () -> Void) {
        loop.enqueue(.call(body))
    }

    /// Watches a socket, a deadline or both; on the thread only.
    ///
    /// - Parameters:
    ///   - descriptor: A socket that the caller keeps open until it removes the watch, or nil for a mere timer.
    ///   - handler: Runs on the thread with what came. It must not keep the reactor alive.
    func watch(_ descriptor: Int32?, _ handler: @escaping @Sendable (PollSet.Event) -> Void) -> PollSet.Watch {
        loop.change { $0.add(descriptor, handler) }
    }

    /// Sets whether the watch also waits for room to write; on the thread only.
    func setWriting(_ writing: Bool, of watch: PollSet.Watch) {
        loop.change { $0.setWriting(writing, of: watch) }
    }

    /// Sets when the handler is called with `.due`, once; nil is never. On the thread only.
    func setDeadline(_ deadline: ContinuousClock.Instant?, of watch: PollSet.Watch) {
        loop.change { $0.setDeadline(deadline, of: watch) }
    }

    /// Ends a watch: its handler is not called again. On the thread only.
    func remove(_ watch: PollSet.Watch) {
        loop.change { $0.remove(watch) }
    }

    /// Ends a watch and drops the content on the thread, in this order; may be called from any thread.
    func remove<Content: ~Copyable>(_ watch: PollSet.Watch, thenDrop content: Transfer<Content>) {
        // The closure holds the loop, not the reactor, which may be gone when its turn comes.
        loop.enqueue(
            .call { [loop] in
                loop.change { $0.remove(watch) }
                _ = content.open()
            })
    }
}
