import Synchronization
import Concurrency

/// A thread that polls the sockets of many connections and is the executor of their actors.
///
/// Only this thread uses libpq: never Swift's shared pool, whose few threads it must not block, and never an event loop
/// of the network side. It handles events of sockets and deadlines one after another.
///
/// The thread ends with the last reference to the reactor.
package final class Reactor: SerialExecutor, TaskExecutor, Sendable {
    private let loop: ReactorLoop

    /// Starts the thread.
    ///
    /// A process that cannot create a thread or pipe exits with a message, since it could serve nothing.
    ///
    /// - Parameter name: the name in debuggers; Linux keeps the first 15 bytes.
    package init(name: String) {
        let loop = ReactorLoop()
        self.loop = loop
        do {
            try DetachedThread.start(name: name) { loop.run() }
        } catch {
            fatalError("Cannot start the reactor \(name): \(error).")
        }
    }

    deinit { loop.stop() }

    package func enqueue(_ job: consuming ExecutorJob) {
        loop.enqueue(.job(UnownedJob(job), self))
    }

    package func asUnownedSerialExecutor() -> UnownedSerialExecutor {
        unsafe UnownedSerialExecutor(ordinary: self)
    }

    /// Called by the runtime when an actor's state is used outside its jobs, as by a watch's handler.
    package func checkIsolated() {
        precondition(loop.isOnThread, "call this on the reactor's thread")
    }

    package func isIsolatingCurrentContext() -> Bool? { loop.isOnThread }

    /// Runs `body` on the thread, after everything enqueued before. Any thread may call it.
    package func submit(_ body: @escaping @Sendable () -> Void) {
        loop.enqueue(.call(body))
    }

    /// Watches a socket, a deadline or both. On the thread only.
    ///
    /// - Parameters:
    ///   - descriptor: a socket that stays open until the watch is removed, or nil for a timer.
    ///   - handler: runs on the thread for each event. It must not retain the reactor.
    func watch(_ descriptor: Int32?, _ handler: @escaping @Sendable (PollSet.Event) -> Void) -> PollSet.Watch {
        loop.change { $0.add(descriptor, handler) }
    }

    /// Sets whether the watch also waits for the socket to be writable. On the thread only.
    func setWriting(_ writing: Bool, of watch: PollSet.Watch) {
        loop.change { $0.setWriting(writing, of: watch) }
    }

    /// Sets the time at which the handler is called with `.due`, once; nil for never. On the thread only.
    func setDeadline(_ deadline: ContinuousClock.Instant?, of watch: PollSet.Watch) {
        loop.change { $0.setDeadline(deadline, of: watch) }
    }

    /// Removes a watch: its handler is not called again. On the thread only.
    func remove(_ watch: PollSet.Watch) {
        loop.change { $0.remove(watch) }
    }

    /// Removes a watch, then drops the content, on the thread. Any thread may call it.
    func remove<Content: ~Copyable>(_ watch: PollSet.Watch, thenDrop content: Transfer<Content>) {
        // The closure retains the loop, not the reactor, which may be gone by then.
        loop.enqueue(
            .call { [loop] in
                loop.change { $0.remove(watch) }
                _ = content.open()
            })
    }
}
