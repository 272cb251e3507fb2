internal import TerminalText

/// What one side did in one round.
struct BenchRound: Sendable {
    let perSecond: Double
    let latencies: Percentiles
}

/// Rounds of Postline and of pgbench in turn, so that a machine that gets faster or slower does so for both.
struct Comparison: Sendable {
    let title: String
    private(set) var postline: [BenchRound] = []
    private(set) var pgbench: [BenchRound] = []

    init(_ title: String) { self.title = title }

    mutating func add(postline ours: BenchRound, pgbench theirs: BenchRound) {
        postline.append(ours)
        pgbench.append(theirs)
    }

    /// The median over the rounds of what Postline does for each thing that pgbench does.
    var ratio: Double { median(zip(postline, pgbench).map { $0.perSecond / $1.perSecond }) ?? 0 }

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
            row("postline", postline), row("pgbench", pgbench),
        ]
    }

    private static func right(_ text: String) -> String {
        String(repeating: " ", count: max(1, 12 - TextWidth.of(text))) + text
    }
}
