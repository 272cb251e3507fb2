import Testing

@testable import postline_bench

@Suite("Bench results")
struct BenchTests {
    @Test("computes percentiles by the nearest rank")
    func percentiles() {
        let all = Percentiles((1...100).shuffled().map { .milliseconds($0) })
        #expect(all.milliseconds(50) == 50)
        #expect(all.milliseconds(99) == 99)
        #expect(all.milliseconds(100) == 100)
        #expect(Percentiles([]).milliseconds(50) == nil)
        #expect(Percentiles([.milliseconds(7)]).milliseconds(99) == 7)
    }

    @Test("uses the median of the rounds' ratios")
    func ratio() {
        var comparison = Comparison("x")
        for (ours, theirs) in [(80.0, 100.0), (400, 1000), (9, 10)] {
            comparison.add(
                BenchRound(perSecond: ours, latencies: Percentiles([])),
                BenchRound(perSecond: theirs, latencies: Percentiles([])))
        }
        #expect(comparison.ratio == 0.8)
    }

    @Test("writes a result as one JSON object")
    func json() {
        let figure = BenchResult(name: "send_ratio_16", value: 0.74321, unit: "ratio", goal: .atLeast(0.6))
        #expect(figure.json == #"{"figure":"send_ratio_16","value":0.743,"unit":"ratio","goal":0.6}"#)
        #expect(figure.isMet)
        let none = BenchResult(name: "x", value: 12, unit: "ms", goal: nil)
        #expect(none.json == #"{"figure":"x","value":12,"unit":"ms","goal":null}"#)
        #expect(!BenchResult(name: "x", value: 12, unit: "ms", goal: .below(10)).isMet)
    }

    @Test("writes a number with the requested decimals")
    func text() {
        #expect(BenchResult.text(1.005, 2) == "1.00" || BenchResult.text(1.005, 2) == "1.01")
        #expect(BenchResult.text(39.8, 2) == "39.80")
        #expect(BenchResult.text(7120.4, 0) == "7120")
        #expect(BenchResult.text(0.05, 2) == "0.05")
        #expect(BenchResult.text(-1.5, 1) == "-1.5")
    }
}
