import TestSupport
import Testing

@Suite("PostgreSQL's settings")
struct PostgresSettingsTests {
    @Test("compose.yaml sets what operations.md advises")
    func compose() throws {
        let page = try Repository.text("docs/operations.md")
        let rows = page.split(separator: "\n").filter { $0.hasPrefix("| `") }
        let compose = try Repository.text("docker-compose.yml")
        let given = compose.matches(of: /(?m)^      - ([a-z_]+)=(\w+)$/)
        #expect(given.map { String($0.1) } == ["checkpoint_timeout", "max_wal_size", "wal_compression"])
        for setting in given {
            #expect(
                rows.contains { $0.contains("`\(setting.1)`") && $0.contains("`\(setting.2)`") },
                "\(setting.1) = \(setting.2)")
        }
    }
}
