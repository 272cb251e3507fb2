import CPostgres
import Synchronization
import Threads

/// The owner of one `PGcancel`: the right to ask a server to stop what a connection has under way.
///
/// Sendable without the compiler's check: it is a copy of the server's address and key that nothing changes, libpq lets
/// any thread use it, and being noncopyable it is freed once.
@safe struct CancelHandle: ~Copyable, @unchecked Sendable {
    private let pointer: OpaquePointer

    init(owning pointer: OpaquePointer) { unsafe self.pointer = pointer }

    deinit { unsafe PQfreeCancel(pointer) }

    /// Asks, blocking until the server has taken note or cannot be reached.
    private func cancel() {
        // Asking is best effort: the connection is closed whatever comes of it.
        unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { complaint in
            _ = unsafe PQcancel(pointer, complaint.baseAddress, 256)
        }
    }

    /// Asks on a thread of its own, because a server that does not answer would hold up a reactor, or a pool of threads.
    ///
    /// At most 16 threads are under way in the process, since `PQcancel` knows no time limit; beyond them the server is
    /// not asked, and finds the connection closed by itself, or ends the statement by its `statement_timeout`.
    consuming func cancelInBackground() {
        let mayStart = Self.underWay.withLock { count in
            guard count < 16 else { return false }
            count += 1
            return true
        }
        guard mayStart else { return }
        let parcel = Transfer(self)
        let finish: @Sendable () -> Void = { Self.underWay.withLock { $0 -= 1 } }
        do {
            try DetachedThread.start(name: "cancel") {
                parcel.open()?.cancel()
                finish()
            }
        } catch {
            finish()
        }
    }

    private static let underWay = Mutex(0)
}
