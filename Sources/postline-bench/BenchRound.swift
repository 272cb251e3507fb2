internal import TerminalText

/// What one side did in one round.
struct BenchRound: Sendable {
    let perSecond: Double
    let latencies: Percentiles
}

/// Rounds of two sides in turn, Postline and pgbench unless named otherwise, so that a machine that gets faster or slower does so for both.
struct Comparison: Sendable {
    let title: String

    /// The two sides.
    let names: (ours: String, theirs: String)
    private var ours: [BenchRound] = []
    private var theirs: [BenchRound] = []

    init(_ title: String, names: (ours: String, theirs: String) = ("postline", "pgbench")) {
        self.title = title
        self.names = names
    }

    mutating func add(_ ours: BenchRound, _ theirs: BenchRound) {
        self.ours.append(ours)
        self.theirs.append(theirs)
    }

    /// The median over the rounds of what the first side does for each thing that the second does.
    var ratio: Double { median(zip(ours, theirs).map { $0.perSecond / $1.perSecond }) ?? 0 }

    /// The median over the rounds of how much longer the first side takes, by the median of each.
    var p50Ratio: Double {
        median(
            zip(ours, theirs).map {
                ($0.latencies.milliseconds(50) ?? 0) / ($1.latencies.milliseconds(50) ?? .infinity)
            }) ?? 0
    }

    /// A small table.
    var table: [String] {
        func row(_ name: String, _ rounds: [BenchRound]) -> String {
            let columns = [
                median(rounds.map(\.perSecond)), median(rounds.compactMap { $0.latencies.milliseconds(50) }),
                median(rounds.compactMap { $0.latencies.milliseconds(95) }),
                median(rounds.compactMap { $0.latencies.milliseconds(99) }),
            ]
            let texts = zip(columns, [0, 2, 2, 2]).map { value, digits in
                Self.right(value.map { BenchFigure.text($0, digits) } ?? "–")
            }
            return "  " + TextWidth.fit(name, to: 10) + texts.joined()
        }
        return [
            title,
            "  " + TextWidth.fit("", to: 10) + ["per second", "p50 ms", "p95 ms", "p99 ms"].map(Self.right).joined(),
            row(names.ours, ours), row(names.theirs, theirs),
        ]
    }

    private static func right(_ text: String) -> String {
        String(repeating: " ", count: max(1, 12 - TextWidth.of(text))) + text
    }
}
