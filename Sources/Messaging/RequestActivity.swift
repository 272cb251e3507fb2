public import NIOCore
internal import Synchronization

/// Whether requests are being answered just now: what can wait lets them go first.
public final class RequestActivity: Sendable {
    private let last = Atomic<UInt64>(0)

    init() {}

    /// A request was answered.
    func note() { last.store(NIODeadline.now().uptimeNanoseconds, ordering: .relaxed) }

    /// Whether one was answered within that time.
    public func isRecent(within time: TimeAmount) -> Bool {
        NIODeadline.now() - NIODeadline.uptimeNanoseconds(last.load(ordering: .relaxed)) < time
    }
}
