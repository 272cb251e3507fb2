package import NIOCore

/// An event loop as the executor of its connections' actors, and as that which their tasks prefer.
///
/// It is both in one, and runs each job as both: so a task goes on right where it was resumed, and enters an actor of
/// the same loop without being enqueued anew. Resumed on another executor, it would go by way of Swift's shared threads:
/// two changes of threads for each wait.
package final class LoopExecutor: SerialExecutor, TaskExecutor {
    private let loop: any EventLoop

    package init(_ loop: any EventLoop) { self.loop = loop }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        loop.execute {
            unsafe job.runSynchronously(
                isolatedTo: self.asUnownedSerialExecutor(), taskExecutor: self.asUnownedTaskExecutor())
        }
    }

    /// What the runtime asks where an actor's state is touched outside of its jobs.
    package func checkIsolated() { loop.preconditionInEventLoop() }

    package func isIsolatingCurrentContext() -> Bool? { loop.inEventLoop }
}
