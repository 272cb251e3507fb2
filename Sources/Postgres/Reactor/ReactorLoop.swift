import Foundations
import Synchronization
import Concurrency

/// The work of a reactor's thread, separate from the reactor so that the thread does not retain it.
final class ReactorLoop: Sendable {
    /// Work from other threads.
    enum Work {
        /// A job of an actor. It retains its reactor until done.
        case job(UnownedJob, Reactor)
        case call(@Sendable () -> Void)
    }

    private struct Inbox {
        var work: [Work] = []
        /// True if the thread is in `poll` or about to be, with an empty inbox: adding work must wake it.
        var isSleeping = false
        var isStopped = false
    }

    private let inbox = Mutex(Inbox())
    /// Only the thread uses it, so the lock is uncontended; the compiler requires it.
    private let polled = Mutex(PollSet())
    private let threadID = Atomic<UInt>(0)
    private let wakePipe: (reading: Int32, writing: Int32)

    init() {
        var ends: [Int32] = [-1, -1]
        // A non-empty buffer has an address.
        // swift-format-ignore: NeverForceUnwrap
        guard unsafe ends.withUnsafeMutableBufferPointer({ unsafe pipe($0.baseAddress!) }) == 0 else {
            fatalError("Cannot start a reactor: cannot create a pipe (error \(errno)).")
        }
        for end in ends {
            _ = fcntl(end, F_SETFL, fcntl(end, F_GETFL) | O_NONBLOCK)
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
        }
        wakePipe = (ends[0], ends[1])
        polled.withLock { $0.wakeDescriptor = ends[0] }
    }

    deinit {
        close(wakePipe.reading)
        close(wakePipe.writing)
    }

    var isOnThread: Bool { threadID.load(ordering: .relaxed) == DetachedThread.currentID }

    func enqueue(_ work: Work) {
        let mustWake = inbox.withLock { inbox in
            inbox.work.append(work)
            defer { inbox.isSleeping = false }
            return inbox.isSleeping
        }
        if mustWake { wake() }
    }

    /// Ends the thread after the enqueued work.
    func stop() {
        let mustWake = inbox.withLock { inbox in
            inbox.isStopped = true
            defer { inbox.isSleeping = false }
            return inbox.isSleeping
        }
        if mustWake { wake() }
    }

    func change<Value>(_ body: (inout PollSet) -> sending Value) -> Value {
        precondition(isOnThread, "call this on the reactor's thread")
        return polled.withLock { body(&$0) }
    }

    /// Runs the thread: poll, call the watches, do the work, repeat.
    func run() {
        threadID.store(DetachedThread.currentID, ordering: .relaxed)
        var batch: [Work] = []
        while true {
            let (isIdle, isOver) = inbox.withLock { inbox in
                inbox.isSleeping = inbox.work.isEmpty && !inbox.isStopped
                return (inbox.isSleeping, inbox.isStopped && inbox.work.isEmpty)
            }
            if isOver { return }

            // Sockets come before new work, so that a connection that the kernel knows to be closed is not used.
            polled.withLock { $0.poll(waiting: isIdle) }
            while let (handler, event) = polled.withLock({ $0.next() }) { handler(event) }

            // Work mostly enqueues the rest of the same request: run some rounds without polling.
            for _ in 0..<8 {
                inbox.withLock { inbox in
                    inbox.isSleeping = false
                    swap(&inbox.work, &batch)
                }
                if batch.isEmpty { break }
                for work in batch {
                    switch work {
                    case .job(let job, let reactor):
                        // As serial and task executor: a task that prefers the reactor enters its actors directly.
                        unsafe job.runSynchronously(
                            isolatedTo: reactor.asUnownedSerialExecutor(), taskExecutor: reactor.asUnownedTaskExecutor()
                        )
                    case .call(let body): body()
                    }
                }
                batch.removeAll(keepingCapacity: true)
            }
        }
    }

    private func wake() {
        var byte: UInt8 = 0
        // A full pipe already wakes the thread.
        _ = unsafe write(wakePipe.writing, &byte, 1)
    }
}
