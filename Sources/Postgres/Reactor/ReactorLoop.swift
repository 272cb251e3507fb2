import Synchronization
import Threads

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// What a reactor's thread does, apart from the reactor so that the thread does not keep the reactor alive.
final class ReactorLoop: Sendable {
    /// What other threads hand over.
    enum Work {
        /// A job of an actor. It holds its reactor until the job is done.
        case job(UnownedJob, Reactor)
        case call(@Sendable () -> Void)
    }

    private struct Inbox {
        var work: [Work] = []
        /// The thread is in `poll`, or about to be, and has seen an empty inbox: who adds work must wake it.
        var isSleeping = false
        var isStopped = false
    }

    private let inbox = Mutex(Inbox())
    /// Touched by the thread alone, so the lock is never waited for; it is there for the compiler's proof.
    private let polled = Mutex(PollSet())
    private let threadID = Atomic<UInt>(0)
    private let wakePipe: (reading: Int32, writing: Int32)

    init() {
        var ends: [Int32] = [-1, -1]
        // A buffer that is not empty has an address.
        // swift-format-ignore: NeverForceUnwrap
        guard unsafe ends.withUnsafeMutableBufferPointer({ unsafe pipe($0.baseAddress!) }) == 0 else {
            fatalError("A reactor cannot start: no pipe (error \(errno)).")
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

    /// Lets the thread end once it has done what was enqueued.
    func stop() {
        let mustWake = inbox.withLock { inbox in
            inbox.isStopped = true
            defer { inbox.isSleeping = false }
            return inbox.isSleeping
        }
        if mustWake { wake() }
    }

    func change<Value>(_ body: (inout PollSet) -> sending Value) -> Value {
        precondition(isOnThread, "a watch belongs to its reactor's thread")
        return polled.withLock { body(&$0) }
    }

    /// The thread's life: poll, tell the watches, do the work, again.
    func run() {
        threadID.store(DetachedThread.currentID, ordering: .relaxed)
        var batch: [Work] = []
        while true {
            let (isIdle, isOver) = inbox.withLock { inbox in
                inbox.isSleeping = inbox.work.isEmpty && !inbox.isStopped
                return (inbox.isSleeping, inbox.isStopped && inbox.work.isEmpty)
            }
            if isOver { return }

            // Sockets come before new work, so that a connection whose end the kernel knows of is not used for it.
            polled.withLock { $0.poll(waiting: isIdle) }
            while let (handler, event) = polled.withLock({ $0.next() }) { handler(event) }

            // What the work itself enqueues is mostly the rest of the same request: some rounds of it go without a poll.
            for _ in 0..<8 {
                inbox.withLock { inbox in
                    inbox.isSleeping = false
                    swap(&inbox.work, &batch)
                }
                if batch.isEmpty { break }
                for work in batch {
                    switch work {
                    case .job(let job, let reactor):
                        // As both that it is: a task that prefers the reactor enters its actors without a detour.
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
        // A full pipe means that a wake is on its way already.
        _ = unsafe write(wakePipe.writing, &byte, 1)
    }
}
