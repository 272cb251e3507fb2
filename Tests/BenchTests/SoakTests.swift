import Foundation
import Testing

@testable import postline_bench

#if canImport(FoundationXML)
import FoundationXML
#endif

@Suite("Soak run samples and plot")
struct SoakTests {
    @Test("ends an axis at round numbers beyond its values")
    func axis() {
        #expect(ChartAxis(holding: 7.3).ticks == [0, 2, 4, 6, 8])
        #expect(ChartAxis(holding: 60, steps: 6).ticks == [0, 10, 20, 30, 40, 50, 60])
        #expect(ChartAxis(holding: 1_574).ticks == [0, 500, 1_000, 1_500, 2_000])
        #expect(ChartAxis(holding: 99.7).ticks == [0, 25, 50, 75, 100])
        #expect(ChartAxis(holding: 0).ticks == [0, 1])
        for value in [0.0012, 0.37, 1, 9.99, 10, 249, 250, 251, 1e9] {
            let axis = ChartAxis(holding: value)
            #expect(axis.end >= value * (1 - 1e-9) && axis.count <= 4, "\(value): \(axis)")
            #expect(axis.part(0) == 0 && axis.part(axis.end) == 1)
        }
    }

    @Test("labels an axis with the decimals of its steps, and commas")
    func ticks() {
        #expect(ChartAxis(holding: 1_574).text(1_500) == "1,500")
        #expect(ChartAxis(holding: 4_000_000).text(3_000_000) == "3,000,000")
        #expect(ChartAxis(holding: 10).text(2.5) == "2.5")
        #expect(ChartAxis(holding: 2).text(1) == "1.0")
        #expect(ChartAxis(holding: 2).text(0) == "0")
    }

    @Test("draws well-formed XML with any title")
    func wellFormed() throws {
        let drawing = try Self.parsed(Self.drawing(title: "<1> & \"2\"", note: "× 1 < 2"))
        #expect(drawing.texts.contains("<1> & \"2\""))
        #expect(drawing.texts.contains("× 1 < 2"))
        #expect(drawing.elements.first?.name == "svg")
        // Both shaded ranges are drawn, and no two texts are in one place.
        #expect(drawing.elements.count { $0.attributes["class"] == "shaded" } == 2)
        let places = drawing.elements.filter { $0.name == "text" }.map(\.attributes).map { "\($0)" }
        #expect(places.count == Set(places).count)
    }

    @Test("draws time to the right and values upward from the axis")
    func points() throws {
        let drawing = try Self.parsed(Self.drawing(title: "x", note: ""))
        let plot = SmallMultiples.plot
        let lines = drawing.elements.filter { $0.name == "polyline" }.map { Self.points($0.attributes["points"]) }
        // The axis ends at 8, so 4 is at half of the height.
        #expect(lines.first == [[plot.left, plot.top + plot.height], [plot.left + plot.width, plot.top]])
        #expect(
            lines.last == [
                [plot.left + plot.width / 2, plot.top + plot.height / 2],
                [plot.left + plot.width, plot.top + plot.height],
            ])
        let ticks = drawing.elements.filter { $0.attributes["class"] == "grid" }.compactMap { $0.attributes["y1"] }
        #expect(ticks.compactMap { Double($0) }.min() == plot.top)
        // All points are within the chart.
        for line in lines.joined() {
            #expect(0...SmallMultiples.chart.width ~= line[0] && 0...SmallMultiples.chart.height ~= line[1])
        }
    }

    @Test("stacks the names of lines that end in one place")
    func names() throws {
        let chart = SmallMultiples.Chart(
            title: "x", note: "",
            lines: ["p50", "p99"].map { .init(name: $0, points: [.init(minutes: 1, value: 5)]) })
        let drawing = try Self.parsed(
            SmallMultiples(title: "", explanation: "", minutes: 1, shaded: [], charts: [chart]))
        let heights = drawing.elements.filter { $0.attributes["class"]?.hasPrefix("name") == true }
            .compactMap { $0.attributes["y"].flatMap { Double($0) } }
        #expect(heights.count == 2 && heights[0] - heights[1] == 13, "\(heights)")
    }

    @Test("compares the second and the last sixth of a run")
    func growth() {
        let (second, last) = SoakSeries.compared(120)
        #expect(second == 20..<40 && last == 100..<120)
        #expect(SoakSeries.compared(6) == (1..<2, 5..<6))
        func growth(_ values: [Double]) -> Double? {
            SoakSeries(name: "x", title: "", values: values, goal: .below(1)).growth
        }
        #expect(growth([9, 10, 9, 9, 9, 12]) == 1.2)
        #expect(growth([1, 2, 3, 4, 5]) == nil)
        #expect(growth([0, 0, 0, 0, 0, 0]) == 1)
        #expect(growth([0, 0, 0, 0, 0, 7]) == 7)
        for count in 0..<6 { #expect(growth(Array(repeating: 1, count: count)) == nil) }
    }

    @Test("computes WAL and HOT updates per half minute, and sizes per message")
    func series() throws {
        let series = SoakSeries.all(try [sample(1), sample(2)], since: try sample(0))
        func values(_ name: String) -> [Double]? { series.first { $0.name == name }?.values }
        #expect(values("log_bytes") == [1_500, 1_500])
        #expect(values("hot_share") == [90, 90])
        #expect(values("table_bytes") == [220, 220])
        #expect(values("index_bytes") == [180, 180])
        #expect(values("dead_rows") == [10, 20])
        #expect(values("send_p50") == [2_000, 2_000])
        #expect(throws: BenchError.self) { try SoakDatabase(row: "1|2|3") }
    }

    @Test("draws a run without samples, with a chart for each result")
    func empty() throws {
        let plot = SoakPlot(minutes: 60, rate: 200, samples: [], start: try sample(0))
        let drawing = try Self.parsed(plot.multiples)
        #expect(drawing.elements.count { $0.name == "g" } == 8)
        #expect(drawing.elements.allSatisfy { $0.name != "polyline" })
        #expect(drawing.texts.contains("60 min"))
        let begun = SoakPlot(minutes: 60, rate: 200, samples: try [sample(1)], start: try sample(0))
        #expect(try Self.parsed(begun.multiples).elements.count { $0.name == "polyline" } == 9)
    }

    /// Returns a sample after this number of half minutes with a hundred messages each.
    private func sample(_ number: Int) throws -> SoakSample {
        let row =
            "\(number * 150_000)|\(number * 200)|\(number * 180)|\(number * 10)"
            + "|\(220 * (1_000 + number * 100))|\(180 * (1_000 + number * 100))|4096\n"
        return SoakSample(
            minutes: Double(number) / 2, sends: Percentiles([.milliseconds(2)]), memory: 50_000_000,
            database: try SoakDatabase(row: row), messages: 1_000 + number * 100)
    }

    /// Returns a chart of ten minutes with two lines, whose greatest value is 8.
    private static func drawing(title: String, note: String) -> SmallMultiples {
        SmallMultiples(
            title: title, explanation: "A point is half a minute.", minutes: 10, shaded: [1...2, 9...10],
            charts: [
                .init(
                    title: "Sends, ms", note: note,
                    lines: [
                        .init(name: "p50", points: [.init(minutes: 0, value: 0), .init(minutes: 10, value: 8)]),
                        .init(name: "p99", points: [.init(minutes: 5, value: 4), .init(minutes: 10, value: 0)]),
                    ])
            ])
    }

    private static func points(_ text: String?) -> [[Double]] {
        (text ?? "").split(separator: " ").map { $0.split(separator: ",").compactMap { Double(String($0)) } }
    }

    private static func parsed(_ drawing: SmallMultiples) throws -> Drawing {
        let parser = XMLParser(data: Data(drawing.svg.utf8))
        let found = Drawing()
        parser.delegate = found
        #expect(parser.parse(), "\(String(describing: parser.parserError)): \(drawing.svg)")
        return found
    }
}

/// Collects the elements and texts of an SVG drawing.
private final class Drawing: NSObject, XMLParserDelegate {
    private(set) var elements: [(name: String, attributes: [String: String])] = []
    private(set) var texts: [String] = []
    private var text = ""

    func parser(
        _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
        attributes: [String: String]
    ) {
        elements.append((name, attributes))
        text = ""
    }

    func parser(_ parser: XMLParser, foundCharacters string: String) { text += string }

    func parser(_ parser: XMLParser, didEndElement name: String, namespaceURI: String?, qualifiedName: String?) {
        texts.append(text)
        text = ""
    }
}
