import Metrics
import Testing

@testable import Metering

@Suite("Metrics registry")
struct MetricsRegistryTests {
    @Test("lists counters, meters and gauges with help and type")
    func kinds() {
        let registry = MetricsRegistry(help: ["b_total": "What b\\c counts,\nin a sentence."])
        Counter(label: "b_total", factory: registry).increment(by: 7)
        let meter = Meter(label: "c", factory: registry)
        meter.set(5)
        meter.increment(by: 2.5)
        meter.decrement()
        Gauge(label: "a", factory: registry).record(-0.25)
        #expect(
            registry.text == """
                # TYPE a gauge
                a -0.25
                # HELP b_total What b\\\\c counts,\\nin a sentence.
                # TYPE b_total counter
                b_total 7
                # TYPE c gauge
                c 6.5

                """)
    }

    @Test("exposes a timer as a cumulative histogram in seconds")
    func timers() {
        let registry = MetricsRegistry()
        let timer = Timer(label: "t_seconds", dimensions: [("method", "me.get")], factory: registry)
        timer.recordMilliseconds(1)
        timer.recordMilliseconds(7)
        timer.recordSeconds(60)
        let lines = registry.text.split(separator: "\n")
        #expect(lines.count == 1 + 14 + 2)
        #expect(lines[0] == "# TYPE t_seconds histogram")
        #expect(lines[1] == #"t_seconds_bucket{method="me.get",le="0.001"} 1"#)
        #expect(lines[3] == #"t_seconds_bucket{method="me.get",le="0.005"} 1"#)
        #expect(lines[4] == #"t_seconds_bucket{method="me.get",le="0.01"} 2"#)
        #expect(lines[13] == #"t_seconds_bucket{method="me.get",le="10"} 2"#)
        #expect(lines[14] == #"t_seconds_bucket{method="me.get",le="+Inf"} 3"#)
        #expect(lines[15] == #"t_seconds_sum{method="me.get"} 60.008"#)
        #expect(lines[16] == #"t_seconds_count{method="me.get"} 3"#)
    }

    @Test("exposes a recorder as a histogram or its last value")
    func recorders() {
        let registry = MetricsRegistry()
        let recorder = Recorder(label: "r", factory: registry)
        for value in [1, 2, 2_000_000] { recorder.record(value) }
        Recorder(label: "s", aggregate: false, factory: registry).record(3)
        #expect(registry.text.contains("r_bucket{le=\"1\"} 1\nr_bucket{le=\"4\"} 2\n"))
        #expect(registry.text.contains("r_bucket{le=\"+Inf\"} 3\nr_sum 2000003\nr_count 3\n"))
        #expect(registry.text.hasSuffix("# TYPE s gauge\ns 3\n"))
    }

    @Test("escapes and sorts labels, and sanitizes names")
    func labels() {
        let registry = MetricsRegistry()
        Counter(
            label: "http.requests-é", dimensions: [("z", "a\"b\\c\nd"), ("a-b", "é"), ("1", "")], factory: registry
        ).increment()
        #expect(
            registry.text == "# TYPE http_requests__ counter\n"
                + #"http_requests__{_1="",a_b="é",z="a\"b\\c\nd"} 1"# + "\n")
    }

    @Test("has one series per name and labels")
    func sharing() {
        let registry = MetricsRegistry()
        for _ in 0..<2 {
            Counter(label: "c_total", dimensions: [("a", "1"), ("b", "2")], factory: registry).increment()
            Counter(label: "c_total", dimensions: [("b", "2"), ("a", "1")], factory: registry).increment()
        }
        _ = Counter(label: "c_total", dimensions: [("a", "2")], factory: registry)
        #expect(
            registry.text == "# TYPE c_total counter\n"
                + #"c_total{a="1",b="2"} 4"# + "\n" + #"c_total{a="2"} 0"# + "\n")
    }

    @Test("does not list a name again as another type")
    func kindsClash() {
        let registry = MetricsRegistry()
        Counter(label: "x", factory: registry).increment()
        Meter(label: "x", factory: registry).set(9)
        #expect(registry.text == "# TYPE x counter\nx 1\n")
    }

    @Test("does not list destroyed metrics")
    func destroyed() {
        let registry = MetricsRegistry()
        let counter = Counter(label: "x", factory: registry)
        let timer = Timer(label: "y", factory: registry)
        counter.destroy()
        timer.destroy()
        #expect(registry.text == "")
    }

    @Test("counts concurrent increments of many threads")
    func threads() async {
        let registry = MetricsRegistry()
        let counter = Counter(label: "c_total", factory: registry)
        let meter = Meter(label: "m", factory: registry)
        let timer = Timer(label: "t", factory: registry)
        await withTaskGroup { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<10_000 {
                        counter.increment()
                        meter.increment(by: 1)
                        timer.recordSeconds(1)
                    }
                }
            }
        }
        #expect(registry.text.contains("c_total 80000\n"))
        #expect(registry.text.contains("\nm 80000\n"))
        #expect(registry.text.contains("\nt_count 80000\n"))
        #expect(registry.text.contains("\nt_sum 80000\n"))
    }
}
