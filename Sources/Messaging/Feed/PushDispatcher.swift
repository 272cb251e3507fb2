internal import Postgres
internal import Synchronization

/// Hands pushes to event loops, and knows whether they have written what they were given.
final class PushDispatcher: Sendable {
    /// How many parts event loops were given and have not written yet, and the bell that tells when there is none.
    private let unwritten = Atomic(0)
    private let written: WakeSignal

    /// When the one that is under way began, and how long the last one took until all was written.
    private let times = Mutex((began: ContinuousClock.now, took: Duration.zero))

    /// To write to so many takes a loop longer than it takes the feed to find the next ones; the first few, so that it
    /// begins.
    static let receiversAtOnce = 128
    private static let receiversAtFirst = 16

    init(on reactor: Reactor) { written = WakeSignal(on: reactor) }

    /// Whether an event loop is still to write something.
    var hasUnwrittenPushes: Bool { unwritten.load(ordering: .acquiring) > 0 }

    /// How long the last one took.
    var lastDispatchDuration: Duration { times.withLock(\.took) }

    /// Returns when all is written. For one task at a time.
    ///
    /// - Throws: where the task is cancelled.
    func waitUntilWritten() async throws(CancellationError) {
        while hasUnwrittenPushes { try await written.next() }
    }

    /// Gives each event loop what its connections get: in one go where that is little, and otherwise part by part, so
    /// that it writes while the rest is given out. What one session gets stays in order.
    func deliver(_ deliveries: [Fanout.Delivery], to sinks: [Fanout.SubscriptionID: any ClientSink]) {
        var parts: [Part] = []
        if !hasUnwrittenPushes { times.withLock { $0.began = .now } }
        for delivery in deliveries {
            // They are few: as many as there are processors.
            for index in parts.indices { parts[index].begin(delivery.push) }
            for id in delivery.subscribers {
                guard let sink = sinks[id] else { continue }
                let target = sink.target
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

    /// What one event loop is to be given next.
    private struct Part {
        let target: any PushTarget
        private var push: Push
        private var pushes: [Multicast] = []

        /// Those of the latest push.
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
