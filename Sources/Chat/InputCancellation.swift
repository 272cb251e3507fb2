import Foundations

/// Cancels a blocking read of standard input. It is a pipe whose end is polled along with the input.
final class InputCancellation: Sendable {
    private let readEnd: Int32
    private let writeEnd: Int32

    init() {
        var ends: [Int32] = [-1, -1]
        // The kernel writes two descriptors into our array; poll ignores invalid ones.
        _ = unsafe pipe(&ends)
        (readEnd, writeEnd) = (ends[0], ends[1])
    }

    deinit { close(readEnd) }

    /// Waits for input or its end. Returns false if cancelled.
    func waitForInput() -> Bool {
        var waited = [
            pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0),
            pollfd(fd: readEnd, events: Int16(POLLIN), revents: 0),
        ]
        // The kernel writes the results into our array.
        while unsafe poll(&waited, 2, -1) < 0, errno == EINTR {}
        return waited[1].revents == 0
    }

    /// Cancels the reading. Call it once.
    func cancel() { close(writeEnd) }
}
