import Foundation
package import Testing

/// A page of the documentation that ends with a table made from the code.
///
/// With `POSTLINE_TEST_WRITE_DOCS=1` (`make docs`) the tests write the tables. Otherwise they compare them.
package struct GeneratedPage {
    private static let marker = "<!-- Generated from the code by make docs. Do not edit below. -->"

    private let path: String

    /// - Parameter path: the page's path from the repository's root on.
    package init(_ path: String) { self.path = path }

    /// Compares the lines below the marker with these, or writes them.
    package func expect(_ lines: [String], sourceLocation: SourceLocation = #_sourceLocation) throws {
        let page = try Repository.text(path)
        let marker = try #require(
            page.firstRange(of: Self.marker), "\(path) lacks the line \(Self.marker)", sourceLocation: sourceLocation)
        if ProcessInfo.processInfo.environment["POSTLINE_TEST_WRITE_DOCS"] == "1" {
            let head = String(page[..<marker.upperBound])
            let written = head + "\n\n" + lines.joined(separator: "\n") + "\n"
            try written.write(to: Repository.url(path), atomically: true, encoding: .utf8)
        } else {
            let present = page[marker.upperBound...].split(separator: "\n").map { String($0) }
            #expect(present == lines, "\(path) is out of date: run make docs", sourceLocation: sourceLocation)
        }
    }
}
