import Postline
import Testing

@testable import Chat

@Suite("Reports in the chat")
struct ReportTests {
    @Test("/report names a message or a person, a reason and a comment")
    func parses() {
        #expect(TypedLine("/report spam") == .report(seq: nil, "spam", comment: nil))
        #expect(TypedLine("/report #12 Abuse he is rude") == .report(seq: 12, "abuse", comment: "he is rude"))
        #expect(TypedLine("/report @bob other  see above ") == .reportUser("bob", "other", comment: "see above"))
        for incomplete in ["/report", "/report #12", "/report @bob"] {
            guard case .incomplete? = TypedLine(incomplete) else {
                Issue.record("\(incomplete) is complete")
                continue
            }
        }
    }
}
