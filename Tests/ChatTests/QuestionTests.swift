import Testing

@testable import Chat

@Suite("Password and confirmation prompts")
struct QuestionTests {
    @Test("accepts a new password entered twice")
    func twice() {
        var question = Question(.upgrade(email: "a@example.com"))
        #expect(question.isSecret)
        #expect(question.label == "A password for a@example.com")
        #expect(question.take("secret one") == .more)
        #expect(question.label == "The same password again")
        #expect(question.take("secret one") == .done(.upgrade(email: "a@example.com", password: "secret one")))
    }

    @Test("cancels on different passwords or an empty line")
    func cancelled() {
        var question = Question(.changePassword)
        #expect(question.take("old") == .more)
        #expect(question.take("new") == .more)
        #expect(question.take("now") == .given(up: "The two passwords are not the same. Nothing was changed."))
        #expect(question.take("") == .given(up: "Nothing was changed."))
    }

    @Test("keeps leading and trailing spaces of a password")
    func blanks() {
        var question = Question(.signIn(email: "a@example.com"))
        #expect(question.take(" two words ") == .done(.signIn(email: "a@example.com", password: " two words ")))
        var change = Question(.changePassword)
        for line in ["old ", " new"] { #expect(change.take(line) == .more) }
        #expect(change.take(" new") == .done(.changePassword(from: "old ", to: " new")))
    }

    @Test("confirms a deletion by password, or by a word for guests")
    func delete() {
        var full = Question(.delete(isGuest: false))
        #expect(full.isSecret && full.take("secret") == .done(.delete(password: "secret")))
        var guest = Question(.delete(isGuest: true))
        #expect(!guest.isSecret && guest.take("yes") == .given(up: "Nothing was deleted."))
        #expect(guest.take("Delete") == .done(.delete(password: nil)))
    }
}
