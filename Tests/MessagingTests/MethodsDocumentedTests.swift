import TestSupport
import Testing

@testable import Messaging

@Suite("docs/methods.md")
struct MethodsDocumentedTests {
    @Test("lists each method with its params and summary")
    func page() throws {
        let head = ["| method | params | description |", "|---|---|---|"]
        try GeneratedPage("docs/methods.md").expect(head + Messaging.Operation.all.map(Self.row))
    }

    private static func row(of operation: Messaging.Operation) -> String {
        let mark = operation.access == .anyone ? " U" : ""
        // A bar would end the cell.
        let params = operation.writtenParams.replacing("|", with: #"\|"#)
        return "| `\(operation.method)`\(mark) | \(params) | \(operation.summary) |"
    }
}
