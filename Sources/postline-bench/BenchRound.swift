import Foundations

/// The result of one side in one round.
struct BenchRound: Sendable {
    let perSecond: Double
    let latencies: Percentiles
}

/// Alternating rounds of two sides, by default Postline and pgbench, so that changes of the machine's speed affect
/// both.
struct Comparison: Sendable {
    let title: String

    /// The names of the sides.
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

    /// The median ratio of the first side's rate to the second's.
    var ratio: Double { median(zip(ours, theirs).map { $0.perSecond / $1.perSecond }) ?? 0 }

    /// The median ratio of the first side's median latency to the second's.
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
                Self.right(value.map { BenchResult.text($0, digits) } ?? "–")
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
