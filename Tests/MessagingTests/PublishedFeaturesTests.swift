import Testing

/// `docs/features.md` is held against the tests, so that it names none that is not there.
@Suite("The published features")
struct PublishedFeaturesTests {
    @Test("name tests that exist, and each row names one or says that it is not done yet")
    func tests() throws {
        let existing = try Repository.testNames()
        let rows = try Repository.text("docs/features.md").split(separator: "\n")
            .filter { $0.hasPrefix("| ") && !$0.hasPrefix("| asked for |") }
        #expect(rows.count > 20)
        for row in rows {
            let shown = String(row.split(separator: "|").last { !$0.allSatisfy(\.isWhitespace) } ?? "")
            let isOpen = shown.contains("not done yet")
            let named = Repository.quoted(shown).filter { !$0.hasPrefix("postline ") }
            #expect(isOpen == named.isEmpty, "\(row)")
            for name in named { #expect(existing.contains(name), "there is no test “\(name)”") }
        }
    }
}
