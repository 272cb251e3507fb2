import Foundations
import SystemPackage

/// Ends the process while its threads still run.
enum ProcessEnd {
    /// Flushes `print`'s buffer, and ends the process at once.
    ///
    /// `exit(3)` would first tear down process-wide state of C libraries (OpenSSL and Kerberos of libpq among them)
    /// under threads that still use it: abandoned connection attempts, reactors and event loops. None of our code
    /// relies on exit handlers.
    ///
    /// - Parameter text: printed first, to standard output on success, otherwise to standard error.
    static func end(_ status: Int32, saying text: String = "") -> Never {
        fflush(nil)
        // If nobody reads it, the status is still right.
        let output: FileDescriptor = status == 0 ? .standardOutput : .standardError
        if !text.isEmpty { _ = try? output.writeAll((text + "\n").utf8) }
        _exit(status)
    }
}
