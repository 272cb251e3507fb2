/// Several small charts of one run over the same time, as an SVG file.
///
/// It adapts to a light or dark background, and needs no script, font or other file.
struct SmallMultiples: Sendable {
    struct Line: Sendable {
        /// The label at the line's end, if a chart has several lines.
        let name: String
        let points: [Point]
    }

    struct Point: Sendable, Equatable {
        let minutes: Double
        let value: Double
    }

    struct Chart: Sendable {
        /// The title with its unit, such as `The node's memory, MiB`.
        let title: String

        /// The note at the right, such as `× 1.02`.
        let note: String

        let lines: [Line]
    }

    let title: String
    let explanation: String

    /// The planned length of the run.
    let minutes: Double

    /// Spans of time that are shaded in each chart.
    let shaded: [ClosedRange<Double>]
    let charts: [Chart]

    private static let columns = 2
    private static let margin = 24.0
    private static let head = 76.0

    /// The size of a chart with title and axes, and of its plot.
    static let chart = (width: 376.0, height: 196.0)
    static let plot = (left: 52.0, top: 34.0, width: 272.0, height: 128.0)

    private var width: Double { Self.margin + Double(Self.columns) * (Self.chart.width + Self.margin) }
    private var height: Double {
        let rows = (charts.count + Self.columns - 1) / Self.columns
        return Self.head + Double(rows) * (Self.chart.height + Self.margin)
    }

    var svg: String {
        var parts = [
            """
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(Self.text(width)) \(Self.text(height))" \
            width="\(Self.text(width))" height="\(Self.text(height))" role="img" aria-labelledby="title explanation">
            <title id="title">\(Self.escaped(title))</title>
            <desc id="explanation">\(Self.escaped(explanation))</desc>
            <style>
            \(Self.style)
            </style>
            <rect class="ground" width="100%" height="100%"/>
            """,
            Self.label(title, "head", Self.margin, 32), Self.label(explanation, "quiet", Self.margin, 54),
        ]
        for (number, chart) in charts.enumerated() {
            let x = Self.margin + Double(number % Self.columns) * (Self.chart.width + Self.margin)
            let y = Self.head + Double(number / Self.columns) * (Self.chart.height + Self.margin)
            parts.append("<g transform=\"translate(\(Self.text(x)) \(Self.text(y)))\">")
            parts += drawn(chart)
            parts.append("</g>")
        }
        parts.append("</svg>")
        return parts.joined(separator: "\n") + "\n"
    }

    private func drawn(_ chart: Chart) -> [String] {
        let plot = Self.plot
        let bottom = plot.top + plot.height
        let across = ChartAxis(holding: minutes, steps: 6)
        let upwards = ChartAxis(holding: chart.lines.flatMap { $0.points.map(\.value) }.max() ?? 0)
        // Clamped to the run's end, since the axis may extend to a round number.
        func x(_ minutes: Double) -> Double { plot.left + plot.width * min(max(minutes / self.minutes, 0), 1) }
        func y(_ value: Double) -> Double { bottom - plot.height * min(max(upwards.part(value), 0), 1) }

        var parts = [
            Self.label(chart.title, "title", 0, 14),
            Self.label(chart.note, "quiet", plot.left + plot.width, 14, anchor: "end"),
        ]
        for span in shaded {
            parts.append(
                "<rect class=\"shaded\" x=\"\(Self.text(x(span.lowerBound)))\" y=\"\(Self.text(plot.top))\" "
                    + "width=\"\(Self.text(x(span.upperBound) - x(span.lowerBound)))\" "
                    + "height=\"\(Self.text(plot.height))\"/>")
        }
        for tick in upwards.ticks {
            let height = Self.text(y(tick))
            parts.append(
                "<line class=\"\(tick == 0 ? "axis" : "grid")\" x1=\"\(Self.text(plot.left))\" "
                    + "y1=\"\(height)\" x2=\"\(Self.text(plot.left + plot.width))\" y2=\"\(height)\"/>")
            parts.append(Self.label(upwards.text(tick), "tick", plot.left - 6, y(tick) + 4, anchor: "end"))
        }
        for tick in across.ticks where tick <= minutes {
            let isLast = tick + across.step > minutes
            let text = across.text(tick) + (isLast ? " min" : "")
            parts.append(Self.label(text, "tick", x(tick), bottom + 16, anchor: "middle"))
        }
        var names: [Double] = []
        for (number, line) in chart.lines.enumerated() {
            guard let last = line.points.last else { continue }
            let points = line.points.map { "\(Self.text(x($0.minutes))),\(Self.text(y($0.value)))" }
            parts.append("<polyline class=\"line line\(number)\" points=\"\(points.joined(separator: " "))\"/>")
            parts.append(
                "<circle class=\"end line\(number)\" cx=\"\(Self.text(x(last.minutes)))\" "
                    + "cy=\"\(Self.text(y(last.value)))\" r=\"2.5\"/>")
            guard chart.lines.count > 1 else { continue }
            // Moved above a label that it would overlap.
            let height = names.reduce(y(last.value) + 4) { abs($1 - $0) < 13 ? $1 - 13 : $0 }
            names.append(height)
            parts.append(Self.label(line.name, "name\(number)", x(last.minutes) + 7, height))
        }
        return parts
    }

    private static func label(
        _ text: String, _ style: String, _ x: Double, _ y: Double, anchor: String = "start"
    ) -> String {
        "<text class=\"\(style)\" x=\"\(Self.text(x))\" y=\"\(Self.text(y))\" text-anchor=\"\(anchor)\">"
            + "\(escaped(text))</text>"
    }

    private static func text(_ number: Double) -> String { BenchResult.text(number, 1, trimmed: true) }

    static func escaped(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
            .replacing("\"", with: "&quot;")
    }

    /// The two colours are distinguishable for people without red or green vision, on both backgrounds.
    private static let style = """
        svg { font: 12px system-ui, -apple-system, "Segoe UI", sans-serif; }
        .ground { fill: #fcfcfb; } .shaded { fill: #0b0b0b; opacity: 0.05; }
        .head { font-size: 17px; font-weight: 600; fill: #0b0b0b; } .title { font-weight: 600; fill: #0b0b0b; }
        .quiet { fill: #52514e; } .tick { font-size: 11px; fill: #52514e; }
        .grid { stroke: #e1e0d9; } .axis { stroke: #a5a49c; }
        .line { fill: none; stroke-width: 1.75; stroke-linejoin: round; stroke-linecap: round; }
        .line.line0 { stroke: #2a78d6; } .line.line1 { stroke: #d9580d; }
        .end.line0, .name0 { fill: #2a78d6; } .end.line1, .name1 { fill: #d9580d; }
        @media (prefers-color-scheme: dark) {
          .ground { fill: #1a1a19; } .shaded { fill: #ffffff; opacity: 0.07; }
          .head, .title { fill: #ffffff; } .quiet, .tick { fill: #c3c2b7; }
          .grid { stroke: #2c2c2a; } .axis { stroke: #6b6a64; }
          .line.line0 { stroke: #5598e7; } .line.line1 { stroke: #f2823a; }
          .end.line0, .name0 { fill: #5598e7; } .end.line1, .name1 { fill: #f2823a; }
        }
        """
}
