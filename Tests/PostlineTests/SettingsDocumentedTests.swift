import Foundation
import TestSupport
import Testing

@testable import postline

@Suite("The settings are documented")
struct SettingsDocumentedTests {
    @Test("the table of settings in the README names each setting, and no other")
    func readme() throws {
        let rows = try Repository.text("README.md").split(separator: "\n").filter { $0.hasPrefix("| `POSTLINE_") }
        let names = rows.flatMap { row in
            let cell = row.split(separator: "|")[0]
            return cell.split(separator: "`").map(String.init).filter { $0.hasPrefix("POSTLINE_") }
        }
        #expect(Set(names) == Set(SettingOptions.keys.map { "POSTLINE_\($0.uppercased())" }))
        #expect(Set(names).count == names.count)
    }
}
