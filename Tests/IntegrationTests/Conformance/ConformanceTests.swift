import Foundation
import Postline
import TestSupport
import Testing

/// Scenarios that every client library passes (`Tests/Conformance/README.md`).
@Suite("Client conformance")
struct ConformanceTests {
    private struct Scenario: Decodable {
        let title: String
        let steps: [JSONValue]
    }

    @Test("passes the scenario", arguments: scenarios, ClientProcess.Library.allCases)
    func scenario(_ name: String, _ library: ClientProcess.Library) async throws {
        let scenario = try JSONDecoder().decode(
            Scenario.self, from: Data(try Repository.text("Tests/Conformance/\(name).json").utf8))
        try #require(!scenario.steps.isEmpty)
        try await TestDatabase.with { try await ScenarioRun.run(scenario.steps, with: library, on: $0) }
    }

    @Test("finds the scenarios")
    func allScenarios() { #expect(Self.scenarios.count >= 10, "\(Self.scenarios)") }

    private static let scenarios = Repository.files(in: "Tests/Conformance", endingIn: "json").map {
        String($0.split(separator: "/").last?.dropLast(5) ?? "")
    }.sorted()
}
