package import CoreMetrics
import Synchronization

/// The metrics of a process, for a Prometheus server.
///
/// A series is looked up when its `Counter`, `Meter`, `Recorder` or `Timer` is created, so that counting is one atomic
/// addition. Two with the same name and labels share a series. A name has one kind: one created as another kind counts
/// but is not exposed.
package final class MetricsRegistry: MetricsFactory, Sendable {
    private let help: [String: String]
    private let families = Mutex<[String: Family]>([:])

    /// - Parameter help: a description of each metric, by name.
    package init(help: [String: String] = [:]) { self.help = help }

    /// All metrics, in Prometheus's text format 0.0.4, by name and then by labels.
    package var text: String {
        let families = families.withLock { $0 }
        var text = ""
        for (name, family) in families.sorted(by: { $0.key < $1.key }) {
            family.write(to: &text, name: name, help: help[name])
        }
        return text
    }

    package func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        series(label, dimensions, .counter, CounterSeries())
    }

    package func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        series(label, dimensions, .gauge, GaugeSeries())
    }

    package func makeRecorder(
        label: String, dimensions: [(String, String)], aggregate: Bool
    ) -> any RecorderHandler {
        guard aggregate else { return series(label, dimensions, .gauge, GaugeSeries()) }
        return series(label, dimensions, .histogram, HistogramSeries(bounds: Self.amounts))
    }

    package func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        series(label, dimensions, .histogram, HistogramSeries(bounds: Self.seconds))
    }

    package func destroyCounter(_ handler: any CounterHandler) { remove(handler) }
    package func destroyMeter(_ handler: any MeterHandler) { remove(handler) }
    package func destroyRecorder(_ handler: any RecorderHandler) { remove(handler) }
    package func destroyTimer(_ handler: any TimerHandler) { remove(handler) }

    /// The bounds of a timer's buckets.
    static let seconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

    /// The bounds of a recorder's buckets.
    static let amounts: [Double] = [1, 4, 16, 64, 256, 1_024, 4_096, 16_384, 65_536, 262_144, 1_048_576]

    /// Returns the existing series, or adds the new one.
    private func series<Series: AnyObject & Sendable>(
        _ label: String, _ dimensions: [(String, String)], _ kind: Family.Kind, _ new: Series
    ) -> Series {
        let name = Labels.name(label)
        let labels = Labels(dimensions)
        return families.withLock { families in
            var family = families[name] ?? Family(kind: kind)
            guard family.kind == kind else { return new }
            if let there = family.series[labels] as? Series { return there }
            family.series[labels] = new
            families[name] = family
            return new
        }
    }

    private func remove(_ handler: AnyObject) {
        families.withLock { families in
            for (name, family) in families {
                guard let place = family.series.first(where: { $0.value === handler }) else { continue }
                families[name]?.series[place.key] = nil
                if families[name]?.series.isEmpty == true { families[name] = nil }
            }
        }
    }
}
