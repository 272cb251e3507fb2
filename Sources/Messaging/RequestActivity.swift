package import NIOCore
import Synchronization

/// The time of the last answered request, by which background work yields to requests.
package final class RequestActivity: Sendable {
    private let last = Atomic<UInt64>(0)

    init() {}

    /// Records that a request was answered.
    func recordAnswer() { last.store(NIODeadline.now().uptimeNanoseconds, ordering: .relaxed) }

    /// Returns true if a request was answered within that time.
    package func isRecent(within time: TimeAmount) -> Bool {
        NIODeadline.now() - NIODeadline.uptimeNanoseconds(last.load(ordering: .relaxed)) < time
    }
}
