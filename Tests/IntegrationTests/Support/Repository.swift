import Foundation
import Testing

/// The repository that these tests stand in.
enum Repository {
    private static let root = (0..<4).reduce(URL(filePath: #filePath)) { url, _ in url.deletingLastPathComponent() }

    static func text(_ path: String) throws -> String {
        try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    /// The one block of SQL that a page has, for its reader to run.
    static func sql(of page: String) throws -> String {
        let blocks = try text(page).split(separator: "```sql\n").dropFirst()
        try #require(blocks.count == 1, "\(page) has \(blocks.count) blocks of SQL")
        return String(try #require(blocks.first?.split(separator: "```").first))
    }
}
