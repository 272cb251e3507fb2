import Logging
import Testing

@testable import Commands

@Suite("Sign in with Apple settings")
struct AppleSettingsTests {
    private func refusal(_ sources: AppleSources) -> String? {
        do {
            _ = try sources.source()
            return nil
        } catch {
            return "\(error)"
        }
    }

    @Test("read the apps, and default to Apple's own keys")
    func apps() throws {
        #expect(AppleSources(clientIDs: "com.example.a, com.example.b,").clients == ["com.example.a", "com.example.b"])
        #expect(refusal(AppleSources(clientIDs: "com.example.a")) == nil)
        let none = try AppleSources().signIn(logger: Logger(label: "test"))
        #expect(none.map { _ in true } == nil)
    }

    @Test("refuse keys without an app, two key sources and invalid URLs")
    func refused() {
        #expect(refusal(AppleSources(keysURL: "https://a.example/keys"))?.contains("POSTLINE_APPLE_CLIENT_IDS") == true)
        #expect(
            refusal(AppleSources(clientIDs: "a", keysURL: "https://a.example", keysFile: "/x"))?.contains("not both")
                == true)
        for url in ["appleid.apple.com", "ftp://a.example", "https://"] {
            #expect(
                refusal(AppleSources(clientIDs: "a", keysURL: url))?.contains("POSTLINE_APPLE_KEYS_URL") == true,
                "\(url)")
        }
    }
}
