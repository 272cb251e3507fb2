import Foundations

/// The way the process ends when Swift traps.
enum ProcessCrash {
    /// Restores the default action of the signals for which the Swift runtime writes a backtrace.
    ///
    /// Writing the backtrace takes up to a minute, during which the process keeps its ports and serves no one. The
    /// message and source line of the trap are written in any case. If `SWIFT_BACKTRACE` is set, this does nothing.
    static func endsAtOnce() {
        guard unsafe getenv("SWIFT_BACKTRACE") == nil else { return }
        for number in [SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV] { signal(number, SIG_DFL) }
    }
}
