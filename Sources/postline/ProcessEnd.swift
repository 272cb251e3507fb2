internal import SystemPackage

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#elseif canImport(Darwin)
internal import Darwin
#endif

/// The end of the process while threads of its own are at work.
enum ProcessEnd {
    /// Writes out what `print` has kept back, and ends the process at once.
    ///
    /// `exit(3)` would first take down what C libraries keep for the whole process (libpq's OpenSSL and Kerberos among
    /// them) under the threads that still use it: attempts to connect that nobody waits for any more, reactors, event
    /// loops. Nothing of ours waits for such an end.
    ///
    /// - Parameter text: is said before, on standard output where all went well, else on standard error.
    static func end(_ status: Int32, saying text: String = "") -> Never {
        fflush(nil)
        // With nobody there to read it, the status is still right.
        let output: FileDescriptor = status == 0 ? .standardOutput : .standardError
        if !text.isEmpty { _ = try? output.writeAll((text + "\n").utf8) }
        _exit(status)
    }
}
