#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// A thread of the operating system for work that must not stand on Swift's shared pool: C calls that block or compute
/// for long.
///
/// It is detached: it ends with its body, and nobody joins it.
public enum DetachedThread {
    /// The operating system has no thread left to give (`EAGAIN`).
    public struct StartFailure: Error, Sendable, CustomStringConvertible {
        /// The error number of `pthread_create`.
        public let errorNumber: Int32

        public var description: String { "the operating system started no thread (error \(errorNumber))" }
    }

    /// How the thread stands to others when there is not enough processor for all.
    public enum Priority: Sendable {
        case normal
        /// Yields to threads that somebody waits for in milliseconds.
        case low
    }

    /// What the thread is called in debuggers, and what it does.
    private final class Start: Sendable {
        let name: String
        let priority: Priority
        let body: @Sendable () -> Void

        init(name: String, priority: Priority, body: @escaping @Sendable () -> Void) {
            self.name = name
            self.priority = priority
            self.body = body
        }
    }

    /// Starts a thread that runs `body` once.
    ///
    /// - Parameters:
    ///   - name: How debuggers show it; Linux keeps the first 15 bytes.
    ///   - body: The thread's whole life.
    /// - Throws: `StartFailure` when there is no thread to have; `body` does not run then.
    public static func start(
        name: String, priority: Priority = .normal, _ body: @escaping @Sendable () -> Void
    ) throws(StartFailure) {
        // The thread takes this reference over; it is given back below only when no thread came to be.
        let argument = unsafe Unmanaged.passRetained(Start(name: name, priority: priority, body: body)).toOpaque()
        let code = unsafe create(argument)
        guard code == 0 else {
            unsafe Unmanaged<Start>.fromOpaque(argument).release()
            throw StartFailure(errorNumber: code)
        }
    }

    /// `pthread_create`, detached; gives its error number.
    private static func create(_ argument: UnsafeMutableRawPointer) -> Int32 {
        #if canImport(Darwin)
        var thread: pthread_t?
        let code = unsafe pthread_create(&thread, nil, { unsafe DetachedThread.run($0) }, argument)
        if code == 0, let thread = unsafe thread { unsafe pthread_detach(thread) }
        #else
        var thread = pthread_t()
        // The thread is given what it is started with, which is not nil.
        // swift-format-ignore: NeverForceUnwrap
        let code = unsafe pthread_create(&thread, nil, { argument in unsafe DetachedThread.run(argument!) }, argument)
        if code == 0 { pthread_detach(thread) }
        #endif
        return code
    }

    /// A number that is the calling thread's own for as long as it lives.
    public static var currentID: UInt {
        #if canImport(Darwin)
        unsafe UInt(bitPattern: pthread_self())
        #else
        UInt(pthread_self())
        #endif
    }

    private static func run(_ argument: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? {
        let start = unsafe Unmanaged<Start>.fromOpaque(argument).takeRetainedValue()
        nameThread(start.name)
        if start.priority == .low { lowerPriority() }
        start.body()
        return nil
    }

    /// A thread that stays as it was works as well, so no failure is told.
    private static func lowerPriority() {
        #if canImport(Darwin)
        _ = pthread_set_qos_class_self_np(QOS_CLASS_UTILITY, 0)
        #else
        // 0 is the calling thread alone, on Linux (setpriority(2), "C library/kernel differences"); PRIO_PROCESS, whose
        // type differs from the parameter's between C libraries, is 0 too.
        _ = setpriority(0, 0, 10)
        #endif
    }

    /// A thread that could not be named works as well, so no failure is told.
    private static func nameThread(_ name: String) {
        #if canImport(Darwin)
        _ = unsafe pthread_setname_np(name)
        #else
        // Swift's view of glibc lacks pthread_setname_np; this file is what it writes to.
        let file = unsafe open("/proc/thread-self/comm", O_WRONLY | O_CLOEXEC)
        guard file >= 0 else { return }
        defer { close(file) }
        _ = unsafe write(file, name, name.utf8.count)
        #endif
    }
}
