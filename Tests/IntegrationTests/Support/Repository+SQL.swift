import TestSupport
import Testing

extension Repository {
    /// The one block of SQL that a page has, for its reader to run.
    static func sql(of page: String) throws -> String {
        let blocks = try text(page).split(separator: "```sql\n").dropFirst()
        try #require(blocks.count == 1, "\(page) has \(blocks.count) blocks of SQL")
        return String(try #require(blocks.first?.split(separator: "```").first))
    }
}
