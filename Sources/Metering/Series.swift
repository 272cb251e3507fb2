import CoreMetrics
import Synchronization

/// A count that only grows: one atomic addition each time.
final class CounterSeries: CounterHandler, Sendable {
    private let count = Atomic<Int64>(0)

    var value: Int64 { count.load(ordering: .relaxed) }

    func increment(by amount: Int64) { count.wrappingAdd(amount, ordering: .relaxed) }

    func reset() { count.store(0, ordering: .relaxed) }
}

/// A number that goes up and down.
final class GaugeSeries: MeterHandler, RecorderHandler, Sendable {
    private let number = Number()

    var value: Double { number.value }

    func set(_ value: Int64) { number.set(Double(value)) }
    func set(_ value: Double) { number.set(value) }
    func increment(by amount: Double) { number.add(amount) }
    func decrement(by amount: Double) { number.add(-amount) }
    func record(_ value: Int64) { number.set(Double(value)) }
    func record(_ value: Double) { number.set(value) }
}

/// The counts of values up to each bound, and their sum. Durations are in seconds.
final class HistogramSeries: TimerHandler, RecorderHandler, Sendable {
    /// The upper bounds of all buckets except the last.
    let bounds: [Double]

    /// The count of each bucket, with the unbounded one last.
    private let hits: [CounterSeries]
    private let total = Number()

    init(bounds: [Double]) {
        self.bounds = bounds
        hits = (0...bounds.count).map { _ in CounterSeries() }
    }

    /// The cumulative counts per bound, and then the total.
    var cumulative: [Int64] {
        var sum: Int64 = 0
        return hits.map { hit in
            sum += hit.value
            return sum
        }
    }

    var sum: Double { total.value }

    func record(_ value: Int64) { record(Double(value)) }

    func record(_ value: Double) {
        hits[bounds.firstIndex { value <= $0 } ?? bounds.count].increment(by: 1)
        total.add(value)
    }

    func recordNanoseconds(_ duration: Int64) { record(Double(duration) / 1e9) }
}
