import CClients
import Concurrency

/// The thread that reads for all watchers, in C: a fan-out to a thousand is a thousand reads, whose cost is part of
/// every measured server's time.
enum WatcherThread {
    /// The reason why the thread could not start, or nil.
    private static let failure: BenchError? = {
        let error = watchers_open(Watcher.mark.0, Watcher.mark.1)
        if error != 0 { return BenchError("Watchers cannot be read from (error \(error)).") }
        do {
            try DetachedThread.start(name: "watchers") {
                unsafe watchers_run { owner, count in
                    guard let owner = unsafe owner else { return }
                    // `read` retains it until the end of the input.
                    let counter = unsafe Unmanaged<MarkCounter>.fromOpaque(owner)
                    unsafe counter.takeUnretainedValue().note(count < 0 ? nil : count)
                    if count < 0 { unsafe counter.release() }
                }
            }
        } catch {
            return BenchError("\(error)")
        }
        return nil
    }()

    /// Reads a socket until its end, then closes it.
    static func read(_ socket: CInt, for counter: MarkCounter) throws(BenchError) {
        if let failure { throw failure }
        counter.begin(socket)
        let owner = unsafe Unmanaged.passRetained(counter)
        let error = unsafe watchers_add(socket, owner.toOpaque())
        if error == 0 { return }
        unsafe owner.release()
        throw BenchError("A watcher's socket cannot be read from (error \(error)).")
    }

    /// Stops reading a socket.
    static func end(_ socket: CInt) { watchers_end(socket) }
}
