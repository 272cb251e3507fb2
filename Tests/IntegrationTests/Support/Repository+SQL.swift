import TestSupport
import Testing

extension Repository {
    /// Returns the SQL block of a page that has one for its reader to run.
    static func sql(of page: String) throws -> String {
        let blocks = try text(page).split(separator: "```sql\n").dropFirst()
        try #require(blocks.count == 1, "\(page) has \(blocks.count) blocks of SQL")
        return String(try #require(blocks.first?.split(separator: "```").first))
    }
}
