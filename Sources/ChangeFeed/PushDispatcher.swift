import Postgres
import Synchronization
import WireProtocol

/// Passes pushes to event loops, and tracks whether they have written them.
final class PushDispatcher: Sendable {
    /// The number of parts that event loops have not written yet, and the signal that it has reached zero.
    private let unwritten = Atomic(0)
    private let written: WakeSignal

    /// The start of the current dispatch, and the duration of the last one until all its pushes were written.
    private let times = Mutex((began: ContinuousClock.now, took: Duration.zero))

    /// The sizes of the parts. Writing 128 receivers takes an event loop longer than the feed needs to prepare the next
    /// part; the first part is small, so that the loop starts early.
    static let receiversAtOnce = 128
    private static let receiversAtFirst = 16

    init(on reactor: Reactor) { written = WakeSignal(on: reactor) }

    /// True if an event loop has pushes to write.
    var hasUnwrittenPushes: Bool { unwritten.load(ordering: .acquiring) > 0 }

    /// The duration of the last dispatch, until all its pushes were written.
    var lastDispatchDuration: Duration { times.withLock(\.took) }

    /// Returns when all pushes are written. Only one task may wait at a time.
    ///
    /// - Throws: if the task is cancelled.
    func waitUntilWritten() async throws(CancellationError) {
        while hasUnwrittenPushes { try await written.next() }
    }

    /// Gives each event loop the pushes for its connections: few at once, many in parts, so that it writes while the
    /// rest is prepared. The pushes of a session stay in order.
    func deliver(_ deliveries: [Fanout.AddressedPush], to sinks: [Fanout.SubscriptionID: any ClientSink]) {
        var parts: [Part] = []
        if !hasUnwrittenPushes { times.withLock { $0.began = .now } }
        for delivery in deliveries {
            // There are few parts: one per event loop.
            for index in parts.indices { parts[index].begin(delivery.push) }
            for id in delivery.subscribers {
                guard let sink = sinks[id] else { continue }
                let target = sink.pushTarget
                var index = parts.count
                while index > 0, parts[index - 1].target !== target { index -= 1 }
                if index == 0 {
                    parts.append(Part(target: target, push: delivery.push))
                    index = parts.count
                }
                parts[index - 1].receivers.append(sink)
                if parts[index - 1].isLargeEnough {
                    send(&parts[index - 1])
                    parts[index - 1].begin(delivery.push)
                }
            }
        }
        for index in parts.indices { send(&parts[index]) }
    }

    private func send(_ part: inout Part) {
        let pushes = part.take()
        if pushes.isEmpty { return }
        unwritten.add(1, ordering: .relaxed)
        part.target.push(pushes) { [self] in
            guard unwritten.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 else { return }
            times.withLock { $0.took = .now - $0.began }
            written.signal()
        }
    }

    /// The next part for one event loop.
    private struct Part {
        let target: any PushTarget
        private var push: Push
        private var pushes: [Multicast] = []

        /// The receivers of the latest push.
        var receivers: [any ClientSink] = []
        private var isFirst = true

        var isLargeEnough: Bool {
            receivers.count == (isFirst ? PushDispatcher.receiversAtFirst : PushDispatcher.receiversAtOnce)
        }

        init(target: any PushTarget, push: Push) {
            self.target = target
            self.push = push
        }

        mutating func begin(_ push: Push) {
            end()
            self.push = push
        }

        mutating func take() -> [Multicast] {
            isFirst = false
            end()
            defer { pushes = [] }
            return pushes
        }

        private mutating func end() {
            guard !receivers.isEmpty else { return }
            pushes.append(Multicast(push, receivers: receivers))
            receivers = []
        }
    }
}
