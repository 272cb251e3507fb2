import Foundations

/// An operating system thread for C calls that block or compute for long and must stay off Swift's shared pool.
///
/// It is detached: it ends with its body and is never joined.
package enum DetachedThread {
    /// The operating system cannot create a thread (`EAGAIN`).
    package struct StartFailure: Error, Sendable, CustomStringConvertible {
        /// The error number of `pthread_create`.
        package let errorNumber: Int32

        package var description: String { "the operating system started no thread (error \(errorNumber))" }
    }

    /// The scheduling priority of a thread.
    package enum Priority: Sendable {
        case normal
        /// Yields to latency-sensitive threads.
        case low
    }

    /// The name and body of a thread.
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
    ///   - name: The name in debuggers. Linux keeps the first 15 bytes.
    ///   - body: The work of the thread.
    /// - Throws: `StartFailure` if no thread can be created. `body` then does not run.
    package static func start(
        name: String, priority: Priority = .normal, _ body: @escaping @Sendable () -> Void
    ) throws(StartFailure) {
        // The thread takes over this reference. It is released below only if no thread was created.
        let argument = unsafe Unmanaged.passRetained(Start(name: name, priority: priority, body: body)).toOpaque()
        let code = unsafe create(argument)
        guard code == 0 else {
            unsafe Unmanaged<Start>.fromOpaque(argument).release()
            throw StartFailure(errorNumber: code)
        }
    }

    /// Runs a blocking call on a thread of its own, and returns its value.
    ///
    /// - Throws: `StartFailure` if no thread can be created.
    package static func value<Value: Sendable>(
        name: String, of call: @escaping @Sendable () -> Value
    ) async throws(StartFailure) -> Value {
        let result: Result<Value, StartFailure> = await withSuspension { caller in
            do throws(StartFailure) {
                try start(name: name) { caller.resume(returning: .success(call())) }
                return .suspend
            } catch {
                return .resume(.failure(error))
            }
        }
        return try result.get()
    }

    /// Calls `pthread_create`, detached, and returns its error number.
    private static func create(_ argument: UnsafeMutableRawPointer) -> Int32 {
        #if canImport(Darwin)
        var thread: pthread_t?
        let code = unsafe pthread_create(&thread, nil, { unsafe DetachedThread.run($0) }, argument)
        if code == 0, let thread = unsafe thread { unsafe pthread_detach(thread) }
        #else
        var thread = pthread_t()
        // The argument is passed on and not nil.
        // swift-format-ignore: NeverForceUnwrap
        let code = unsafe pthread_create(&thread, nil, { argument in unsafe DetachedThread.run(argument!) }, argument)
        if code == 0 { pthread_detach(thread) }
        #endif
        return code
    }

    /// An identifier of the calling thread, unique among living threads.
    package static var currentID: UInt {
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

    /// Lowers the calling thread's priority. Failure is harmless and ignored.
    private static func lowerPriority() {
        #if canImport(Darwin)
        _ = pthread_set_qos_class_self_np(QOS_CLASS_UTILITY, 0)
        #else
        // 0 is the calling thread alone, on Linux (setpriority(2), "C library/kernel differences"). PRIO_PROCESS, whose
        // type differs from the parameter's between C libraries, is 0 too.
        _ = setpriority(0, 0, 10)
        #endif
    }

    /// Names the calling thread. Failure is harmless and ignored.
    private static func nameThread(_ name: String) {
        #if canImport(Darwin)
        _ = unsafe pthread_setname_np(name)
        #else
        // Swift's view of glibc lacks pthread_setname_np, which writes to this file.
        let file = unsafe open("/proc/thread-self/comm", O_WRONLY | O_CLOEXEC)
        guard file >= 0 else { return }
        defer { close(file) }
        _ = unsafe write(file, name, name.utf8.count)
        #endif
    }
}
