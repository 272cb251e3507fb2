import Foundation
import TestSupport
import Testing

@Suite("Quoted examples")
struct PublishedExamplesTests {
    private static let pages =
        ["README.md", "docs/client.md"]
        + Repository.files(in: "Sources/Postline/Postline.docc", endingIn: "md")

    @Test("each Swift block is in Examples, word for word", arguments: pages)
    func blocks(_ page: String) throws {
        let sources = try Repository.files(in: "Examples", endingIn: "swift").map(Repository.text)
        let blocks = try Repository.text(page).matches(of: /(?ms)^```swift\n(.*?)^```/).map(\.1)
        if page == "docs/client.md" { #expect(blocks.count > 10) }
        for block in blocks {
            let isThere = [0, 4, 8, 12].contains { indentation in
                let lines = block.split(separator: "\n", omittingEmptySubsequences: false)
                let indented = lines.map { $0.isEmpty ? "" : String(repeating: " ", count: indentation) + $0 }
                return sources.contains { "\n\($0)".contains("\n" + indented.joined(separator: "\n")) }
            }
            #expect(isThere, "\(block)")
        }
    }
}
