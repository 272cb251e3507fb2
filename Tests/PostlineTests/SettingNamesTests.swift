import Foundation
import TestSupport
import Testing

@testable import Commands

@Suite("Setting names")
struct SettingNamesTests {
    /// The files in which people, scripts and containers set variables.
    private static let files = [
        "README.md", "CONTRIBUTING.md", "Makefile", "Package.swift", "Dockerfile", "docker-compose.yml", "deploy",
        "docs", "scripts",
    ]

    @Test("row 57: documents, scripts and containers name known variables")
    func known() throws {
        var names: Set<String> = []
        for file in Self.files {
            let url = Repository.url(file)
            let inside = FileManager.default.enumerator(at: url, includingPropertiesForKeys: nil)?.allObjects ?? []
            for file in [url] + inside.compactMap({ $0 as? URL }) {
                guard let text = try? String(contentsOf: file, encoding: .utf8) else { continue }
                names.formUnion(text.matches(of: /POSTLINE_[A-Z0-9_]*[A-Z0-9]/).map { String($0.0) })
            }
        }
        #expect(names.count > 40)
        #expect(names.filter { !SettingNames.isKnown($0) } == [])
    }

    @Test("suggests the nearest known name, if any is similar")
    func nearest() {
        #expect(SettingNames.nearestVariable(to: "POSTLINE_HOTS") == "POSTLINE_HOST")
        #expect(SettingNames.nearestVariable(to: "POSTLINE_Host") == "POSTLINE_HOST")
        #expect(SettingNames.nearestVariable(to: "POSTLINE_DATABSE_URL") == "POSTLINE_DATABASE_URL")
        #expect(SettingNames.nearestVariable(to: "POSTLINE_COLOUR_OF_ALL") == nil)
        #expect(SettingNames.nearestKey(to: "maxConnections") == "max_connections")
        #expect(!SettingNames.isKnown("POSTLINE_HOTS"))
        #expect(SettingNames.isKnown("POSTLINE_TEST_SEED"))
    }
}
