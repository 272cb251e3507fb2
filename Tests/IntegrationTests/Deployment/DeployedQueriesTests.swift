import BoundedWait
import Foundation
import LineClient
import TestSupport
import Testing
@testable import WireProtocol

@Suite("Alerts and dashboard queries", .timeLimit(.minutes(20)))
struct DeployedQueriesTests {
    /// A query of an alert or a panel.
    private struct Query {
        let name: String
        let text: String

        /// The series that it reads, with the values of their labels.
        var selectors: [(series: String, labels: [(name: String, values: [String])])] {
            text.matches(of: #/\b((?:postline|process)_[a-z_]+)(?:\{([^}]*)\})?/#).map { match in
                let labels = (match.2 ?? "").matches(of: #/([a-z]+)(?:=|!=|=~|!~)"([^"]*)"/#).map {
                    (name: String($0.1), values: $0.2.split(separator: "|").map(String.init))
                }
                return (String(match.1), labels)
            }
        }

        /// The labels that it groups by.
        var grouping: Set<String> {
            Set(
                text.matches(of: #/by \(([^)]*)\)/#).flatMap { match in
                    match.1.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
                })
        }
    }

    /// Prometheus adds these labels to each series.
    private static let added: Set = ["job", "instance"]

    @Test(
        "a node exports every series and label that the queries use",
        .covers("D29"))
    func exist() async throws {
        let queries = try Self.alerts().map(\.query) + Self.panels()
        #expect(queries.count > 30)
        try await TestDatabase.with { database in
            try await Self.serve(database) { node in
                let (alice, bob) = (try await node.signedIn(.alice), try await node.signedIn(.bob))
                try await bob.sync()
                try await alice.send("a message", to: Room.aliceBob)
                try await bob.follow { $0.has("a message", in: Room.aliceBob) }
                for method in ["me.get", "me.update", "me.update_physical"] { try await alice.call(method) }
                try await alice.call("me.save", ["bio": "New."])
                try await alice.call("profiles.get", ["ids": [.string(Person.bob.id)]])
                try await alice.call("profiles.search", ["query": "bob"])
                let http = try await node.command.port(of: "serving HTTP")
                #expect(try await TestHTTPResponse.get("/v1/openapi.json", port: http).status == 200)
                let shown = try await Self.labels(ofMailsAndPushesToo: node)
                for query in queries {
                    for selector in query.selectors {
                        guard let labels = shown[selector.series] else {
                            Issue.record("\(query.name): there is no \(selector.series)")
                            continue
                        }
                        for label in query.grouping.subtracting(Self.added) {
                            #expect(labels[label] != nil, "\(query.name): \(selector.series) has no label \(label)")
                        }
                        for (label, values) in selector.labels where !Self.added.contains(label) {
                            #expect(labels[label] != nil, "\(query.name): \(selector.series) has no label \(label)")
                            // Error codes appear only after the first error. They are compared with the list of codes.
                            for value in values where !["code", "status"].contains(label) {
                                #expect(labels[label]?.contains(value) == true, "\(query.name): no \(label) \(value)")
                            }
                        }
                    }
                }
                await alice.close()
                await bob.close()
            }
        }
    }

    /// Runs a node that writes mail to a folder and sends pushes to an unreachable webhook.
    private static func serve(
        _ database: TestDatabase, _ body: @Sendable (ServeProcess) async throws -> Void
    ) async throws {
        let mails = FileManager.default.temporaryDirectory.appending(path: "postline-mails-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: mails) }
        let node = try await ServeProcess.start(
            database,
            environment: [
                "POSTLINE_MAIL_DIR": mails, "POSTLINE_MAIL_FROM": "chat@example.com",
                "POSTLINE_PUSH_WEBHOOK_URL": "http://127.0.0.1:1",
                "POSTLINE_PUSH_WEBHOOK_SECRET": "a secret of the tests, of 32 bytes and more",
            ])
        defer { node.command.signal(SIGKILL) }
        try await body(node)
    }

    /// Lets the node send mail and pushes, and returns its labels once their metrics appear.
    private static func labels(
        ofMailsAndPushesToo node: ServeProcess
    ) async throws -> [String: [String: Set<String>]] {
        let (carol, dave) = (try await node.signedIn(.carol), try await node.signedIn(.dave))
        try await carol.call("devices.register", ["platform": "webhook", "token": "carol's"])
        try await dave.send("a message", to: try await dave.conversation(with: Person.carol.id))
        try await dave.call("auth.request_password_reset", ["email": "dave@example.com"])
        let shown: [String: [String: Set<String>]] = try await eventually("figures of mails and pushes") {
            let shown = try await labels(shownBy: node)
            return shown["postline_device_notifications_total"] != nil && shown["postline_mails_total"] != nil
                ? shown : nil
        }
        await carol.close()
        await dave.close()
        return shown
    }

    @Test("each alert's query keeps the labels that its text names")
    func sentences() throws {
        for alert in try Self.alerts() {
            let named = alert.summary.matches(of: #/\$labels\.([a-z]+)/#).map { String($0.1) }
            let isAggregated = alert.query.text.contains(#/\b(sum|max|min|avg|count)\b/#)
            guard isAggregated else {
                #expect(Set(named).subtracting(Self.added) == [], "\(alert.query.name)")
                continue
            }
            #expect(Set(named).subtracting(alert.query.grouping) == [], "\(alert.query.name)")
        }
    }

    /// Returns the labels and values of each series that a node exports.
    private static func labels(shownBy node: ServeProcess) async throws -> [String: [String: Set<String>]] {
        var shown: [String: [String: Set<String>]] = [:]
        for series in try await node.metrics().keys {
            let name = String(series.prefix { $0 != "{" })
            shown[name] = shown[name] ?? [:]
            for match in series.matches(of: #/([a-z]+)="([^"]*)"/#) {
                shown[name, default: [:]][String(match.1), default: []].insert(String(match.2))
            }
        }
        return shown
    }

    /// Reads the alerts of the file: a name, an expression on one line or folded, further keys, and a sentence.
    private static func alerts() throws -> [(query: Query, summary: String)] {
        let blocks = try Repository.text("deploy/prometheus/postline.rules.yml").split(separator: "- alert: ")
            .dropFirst()
        #expect(blocks.count > 10)
        return try blocks.map { block in
            let name = String(block.prefix { $0 != "\n" })
            let rest = try #require(block.firstRange(of: "expr: ")).upperBound
            let end = try #require(block[rest...].firstRange(of: #/\n +(for|labels|annotations):/#)).lowerBound
            let summary = try #require(block.firstMatch(of: #/summary: "(.*)"/#)).1
            return (Query(name: name, text: String(block[rest..<end])), String(summary))
        }
    }

    private static func panels() throws -> [Query] {
        let dashboard = try JSON(parsing: Repository.text("deploy/grafana/postline.json"))
        return (dashboard["panels"]?.arrayValue ?? []).flatMap { panel in
            (panel["targets"]?.arrayValue ?? []).map {
                Query(name: panel["title"]?.stringValue ?? "", text: $0["expr"]?.stringValue ?? "")
            }
        }
    }
}
