#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// How the process ends where Swift traps.
enum ProcessCrash {
    /// Restores the default action of the signals for which the Swift runtime writes a backtrace.
    ///
    /// The backtrace takes up to a minute, during which the process keeps its ports and answers nobody. The message and
    /// the source line of the trap are written all the same. A process that was started with `SWIFT_BACKTRACE` set is
    /// left as it is.
    static func endsAtOnce() {
        guard unsafe getenv("SWIFT_BACKTRACE") == nil else { return }
        for number in [SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV] { signal(number, SIG_DFL) }
    }
}
