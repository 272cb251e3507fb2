import Foundation
import Postline
import Testing

@Suite("Client error descriptions")
struct ClientErrorTests {
    @Test("every code has a sentence as localized description")
    func sentences() {
        let codes: [PostlineError.Code] = [
            .parseError, .invalidUTF8, .unknownMethod, .invalidParams, .internalError, .unauthenticated,
            .invalidCredentials, .invalidToken, .tokenExpired, .sessionRevoked, .forbidden, .notFound, .usernameTaken,
            .emailTaken, .emailUnconfirmed, .versionConflict, .clientIDReused, .lineTooLong, .usernameCooldown,
            .rateLimited, .unavailable, .timeout, .offline, .signedOut, .notTrusted, .malformedAnswer, .storeUnusable,
            .outboxFull, .notSent, .fileTooLarge,
        ]
        for code in codes {
            let error = PostlineError(code, "errno 5 in shard 7")
            let sentence = error.errorDescription ?? ""
            #expect(sentence.first?.isUppercase == true && sentence.hasSuffix("."), "\(code): \(sentence)")
            #expect(!sentence.contains("shard") && !sentence.contains("_"), "\(code): \(sentence)")
            #expect((error as any Error).localizedDescription == sentence)
        }
    }

    @Test("an app replaces the sentences of codes")
    func custom() {
        // Other tests run at the same time, so the app has a sentence for a code of its own only.
        let code: PostlineError.Code = "out_of_paint"
        PostlineError.customSentence = { $0.code == code ? "Die Farbe ist alle." : nil }
        #expect(PostlineError(code, "No.").localizedDescription == "Die Farbe ist alle.")
        #expect(PostlineError(.offline, "No.").localizedDescription == "There is no connection to the server.")
        PostlineError.customSentence = nil
        #expect(PostlineError(code, "No.").localizedDescription == "No.")
    }

    @Test("sentences name the field and the retry time")
    func details() {
        let expected: [(PostlineError, String)] = [
            (
                PostlineError(.invalidParams, "No.", field: "avatar.avatar_id"),
                "This value is missing or cannot be used: avatar id."
            ),
            (PostlineError(.invalidParams, "No."), "A value is missing or cannot be used."),
            (
                PostlineError(.invalidParams, "No.", field: "new_password"),
                "A password has at least 8 characters, and at most 72 of the Latin alphabet."
            ),
            (PostlineError(.invalidParams, "No.", field: "content"), "A message has 1 to 8,000 characters."),
            (PostlineError(.invalidParams, "No.", field: "attachments"), "A message can have 1 to 10 files."),
            (
                PostlineError(.invalidParams, "No.", field: "attachments[3]"),
                "This file cannot be read, or is empty. Choose it again."
            ),
            (
                PostlineError(.invalidParams, "No.", field: "attachments[3].width"),
                "This value is missing or cannot be used: width."
            ),
            (
                PostlineError(.invalidParams, "No.", field: "user_ids[3]"),
                "This value is missing or cannot be used: user ids[3]."
            ),
            (PostlineError(.fileTooLarge, "No.", field: "attachments[3]"), "This file is too large."),
            (PostlineError(.invalidCredentials, "No.", field: "password"), "The password is wrong."),
            (PostlineError(.invalidCredentials, "No."), "The email address or the password is wrong."),
            (
                PostlineError(.invalidToken, "No.", field: "token"),
                "This link is invalid or has expired. Request a new mail."
            ),
            (PostlineError(.invalidToken, "No."), "Your session has ended. Sign in again."),
            (PostlineError(.rateLimited, "No.", retryAfter: 0.2), "Too many attempts. Try again in a second."),
            (PostlineError(.rateLimited, "No.", retryAfter: 29.5), "Too many attempts. Try again in 30 seconds."),
            (PostlineError(.rateLimited, "No.", retryAfter: 60), "Too many attempts. Try again in a minute."),
            (PostlineError(.rateLimited, "No.", retryAfter: 61), "Too many attempts. Try again in 2 minutes."),
            (PostlineError(.rateLimited, "No.", retryAfter: .nan), "Too many attempts. Try again later."),
            (PostlineError(.unavailable, "No."), "The server is busy. Try again later."),
        ]
        for (error, sentence) in expected { #expect(error.errorDescription == sentence) }
    }

    @Test("unknown codes show the server's message")
    func newerServer() {
        #expect(PostlineError("moon_phase", "Wait for the new moon.").errorDescription == "Wait for the new moon.")
        #expect(PostlineError(.invalidRequest, "Sign out first.").localizedDescription == "Sign out first.")
    }
}
