import Metrics

/// The line server's counters (swift-metrics), all prefixed `postline_`.
final class LineMetrics: Sendable {
    private let connectionsMeter = Meter(label: "postline_connections")
    private let refusedCounter = Counter(label: "postline_connections_refused")
    private let linesCounter = Counter(label: "postline_lines")
    private let pushesCounter = Counter(label: "postline_pushes")
    private let laggedCounter = Counter(label: "postline_lagged")

    /// How many clients are being served.
    func connections(_ count: Int) { self.connectionsMeter.set(count) }

    /// A client was told that there is no room for it.
    func refused() { self.refusedCounter.increment() }

    /// A line was taken for execution.
    func line() { self.linesCounter.increment() }

    /// A push was given to a connection.
    func pushed() { self.pushesCounter.increment() }

    /// A client fell behind, and its queued pushes were dropped.
    func lagged() { self.laggedCounter.increment() }
}
