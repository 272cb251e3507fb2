import CPostgres
import Synchronization
import Concurrency

/// The owner of a `PGcancel`, which sends cancel requests for a connection's statement.
///
/// Sendable without the compiler's check: it is a copy of the server's address and key that nothing changes, any thread
/// may use it, and being noncopyable it is freed once.
@safe struct CancelHandle: ~Copyable, @unchecked Sendable {
    private let pointer: OpaquePointer

    init(owning pointer: OpaquePointer) { unsafe self.pointer = pointer }

    deinit { unsafe PQfreeCancel(pointer) }

    /// Sends the request, and blocks until the server has received it or cannot be reached.
    private func cancel() {
        // Best effort: the connection is closed in any case.
        unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { complaint in
            _ = unsafe PQcancel(pointer, complaint.baseAddress, 256)
        }
    }

    /// Sends the request on a separate thread, since an unresponsive server would block a reactor or a thread pool.
    ///
    /// At most 16 such threads run per process, since `PQcancel` has no timeout. Beyond them no request is sent: the
    /// server detects the closed connection, or ends the statement by its `statement_timeout`.
    consuming func cancelInBackground() {
        let mayStart = Self.inFlight.withLock { count in
            guard count < 16 else { return false }
            count += 1
            return true
        }
        guard mayStart else { return }
        let parcel = Transfer(self)
        let finish: @Sendable () -> Void = { Self.inFlight.withLock { $0 -= 1 } }
        do {
            try DetachedThread.start(name: "cancel") {
                parcel.open()?.cancel()
                finish()
            }
        } catch {
            finish()
        }
    }

    private static let inFlight = Mutex(0)
}
