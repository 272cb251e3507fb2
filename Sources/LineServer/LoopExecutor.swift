import NIOCore

/// Runs tasks on an event loop, so that a session's work needs no other thread than its connection's.
final class LoopExecutor: TaskExecutor {
    private let eventLoop: any EventLoop

    init(_ eventLoop: any EventLoop) {
        self.eventLoop = eventLoop
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        // The reference to this executor is used while `self` is held by the closure, and no longer.
        self.eventLoop.execute { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
