import TestSupport
import Testing

@testable import Commands

@Suite("Version")
struct VersionTests {
    @Test("the newest version in the changelog is the program's")
    func changelog() throws {
        let changelog = try Repository.text("CHANGELOG.md")
        let newest = try #require(changelog.firstMatch(of: /(?m)^## (\d+\.\d+\.\d+)/))
        #expect(String(newest.1) == Postline.version)
    }
}
