import NIOCore

/// An event loop as the executor that the tasks of its connections prefer.
///
/// A task that waited goes on there first, and then where it belongs. Without a preference that detour is through Swift's
/// shared threads: two changes of threads for each wait.
final class LoopTaskExecutor: TaskExecutor {
    private let loop: any EventLoop

    init(_ loop: any EventLoop) { self.loop = loop }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        self.loop.execute { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
