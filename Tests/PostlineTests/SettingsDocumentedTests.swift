import Accounts
import ArgumentParser
import TestSupport
import Testing
import WireProtocol

@testable import Commands

@Suite("Settings documentation")
struct SettingsDocumentedTests {
    @Test("docs/configuration.md has a row of each setting, with its default and its help")
    func page() throws {
        let head = ["| variable | default | meaning |", "|---|---|---|"]
        try GeneratedPage("docs/configuration.md").expect(head + Setting.all.map(Self.row))
    }

    private static func row(of setting: Setting) -> String {
        let standard =
            switch setting.standard {
            case .value(let text): "`\(text)`"
            case .words(let words): words
            case nil: "none"
            }
        return "| `\(setting.variable)` | \(standard) | \(setting.help) |"
    }

    @Test("keys are unique, and the lower-case variable names", arguments: Setting.all)
    func key(setting: Setting) {
        #expect(setting.key.wholeMatch(of: #/[a-z]+(_[a-z0-9]+)*/#) != nil)
        #expect(Setting.all.count { $0.key == setting.key } == 1)
    }

    @Test("a default is a valid value without effect", arguments: Setting.all)
    func standard(setting: Setting) throws {
        guard case .value(let text) = setting.standard else { return }
        var settings = Settings()
        try setting.read(text, into: &settings)
        #expect("\(settings)" == "\(Settings())")
    }

    @Test("each setting is a flag of its name", arguments: Setting.all)
    func flag(setting: Setting) throws {
        let name = "--\(setting.key.replacing("_", with: "-"))"
        #expect(try SettingOptions.parse(["\(name)=-1"]).given == [setting.key: "-1"])
        #expect(try SettingOptions.parse([name, "7"]).given == [setting.key: "7"])
        #expect(Self.help.contains("\(name) <"))
    }

    private static let help = SettingOptions.helpMessage()
}
