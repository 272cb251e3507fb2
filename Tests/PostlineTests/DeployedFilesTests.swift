import Foundation
import Gateway
import LineServer
import Messaging
import Outbox
import TestSupport
import Testing
import WireProtocol

@testable import Commands

@Suite("Deployment files")
struct DeployedFilesTests {
    /// The metrics of a node, with their help texts.
    private static let help: [(key: String, value: String)] = [
        LineServer.metricHelp, Gateway.metricHelp, MessagingService.metricHelp, Pusher.metricHelp, Mailer.metricHelp,
        ProcessMemory.metricHelp,
    ].flatMap { $0 }
    private static let metrics = Set(help.map { $0.key })
    private static let files = ["deploy/prometheus/postline.rules.yml", "deploy/grafana/postline.json"]

    @Test("alerts and dashboard use existing metrics", arguments: files)
    func figuresExist(file: String) throws {
        let used = try Self.metricsUsed(in: file)
        #expect(used.count > 5)
        #expect(used.subtracting(Self.metrics) == [])
    }

    @Test("the dashboard shows every metric")
    func figuresAreShown() throws {
        #expect(Self.metrics.subtracting(try Self.metricsUsed(in: "deploy/grafana/postline.json")) == [])
    }

    @Test("docs/metrics.md has a row of each metric, with its help")
    func metricsPage() throws {
        let rows = Self.help.sorted { $0.key < $1.key }.map { "| `\($0.key)` | \($0.value) |" }
        try GeneratedPage("docs/metrics.md").expect(["| metric | meaning |", "|---|---|"] + rows)
    }

    @Test("alerts and dashboard use existing error codes", arguments: files)
    func codesExist(file: String) throws {
        let codes = try Repository.text(file).matches(of: /code=~?\\?"([a-z_|]+)/)
            .flatMap { $0.1.split(separator: "|") }
        #expect(codes.isEmpty == !file.hasSuffix("yml"))
        for code in codes where code != "ok" { #expect(ErrorCode(rawValue: String(code)) != nil, "\(code)") }
    }

    @Test("docs/operations.md explains every alert")
    func alertsAreExplained() throws {
        let alerts = try Repository.text(Self.files[0]).matches(of: /- alert: (\w+)/).map { String($0.1) }
        let text = try Repository.text("docs/operations.md")
        #expect(alerts.count > 5)
        for alert in alerts { #expect(text.contains("`\(alert)`"), "\(alert)") }
    }

    @Test("the dashboard is JSON with a query in each panel")
    func dashboard() throws {
        let text = try Repository.text("deploy/grafana/postline.json")
        let object = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
        let panels = try #require(object?["panels"] as? [[String: Any]])
        for panel in panels where panel["type"] as? String != "row" {
            let targets = panel["targets"] as? [[String: Any]] ?? []
            #expect(!targets.isEmpty && targets.allSatisfy { $0["expr"] is String }, "\(panel["title"] ?? "")")
        }
    }

    /// Returns the metrics that a file names, without Prometheus's suffixes of histograms.
    private static func metricsUsed(in file: String) throws -> Set<String> {
        Set(
            try Repository.text(file).matches(of: /\b(?:postline|process)_[a-z_]+\b/).map { match in
                let name = String(match.0)
                for ending in ["_bucket", "_sum", "_count"] where name.hasSuffix(ending) {
                    return String(name.dropLast(ending.count))
                }
                return name
            })
    }
}
