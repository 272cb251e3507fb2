package import NIOCore

/// An event loop as the executor of its connections' actors and the preferred executor of their tasks.
///
/// It runs each job as both, so a task resumes in place and enters an actor of the same loop without being enqueued
/// again. With separate executors each wait would cost two thread hops through Swift's shared pool.
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

    /// Checks isolation for the runtime when actor state is accessed outside a job.
    package func checkIsolated() { loop.preconditionInEventLoop() }

    package func isIsolatingCurrentContext() -> Bool? { loop.inEventLoop }
}
