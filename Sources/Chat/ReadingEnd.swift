#if canImport(Darwin)
internal import Darwin
#elseif canImport(Musl)
internal import Musl
#else
internal import Glibc
#endif

/// Tells the reader of standard input, which waits for what is typed, that nobody wants it any more.
///
/// It is a pipe, whose end is seen beside the input.
final class ReadingEnd: Sendable {
    private let seen: Int32
    private let told: Int32

    init() {
        var ends: [Int32] = [-1, -1]
        // The kernel writes two descriptors into the array that we own; poll passes over what is none.
        _ = unsafe pipe(&ends)
        (seen, told) = (ends[0], ends[1])
    }

    deinit { close(seen) }

    /// Waits until standard input has something, or has ended; false where nobody wants to know any more.
    func waitForInput() -> Bool {
        var waited = [
            pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0),
            pollfd(fd: seen, events: Int16(POLLIN), revents: 0),
        ]
        // Of the array, which we own, the kernel writes what has happened.
        while unsafe poll(&waited, 2, -1) < 0, errno == EINTR {}
        return waited[1].revents == 0
    }

    /// Tells it, once.
    func tell() { close(told) }
}
