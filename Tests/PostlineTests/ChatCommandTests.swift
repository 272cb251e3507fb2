import Testing

@testable import Commands

@Suite("postline chat")
struct ChatCommandTests {
    @Test("explains how to build a missing chat in its configuration")
    func absence() {
        let release = ChatCommand.absence(of: "/p/.build/x86_64-unknown-linux-gnu/release/postline-chat")
        #expect(release.hasSuffix("build it with `swift build -c release --product postline-chat`."))
        let debug = ChatCommand.absence(of: "/p/release/.build/debug/postline-chat")
        #expect(
            debug.hasSuffix(
                "/p/release/.build/debug/postline-chat does not exist: build it with `swift build --product postline-chat`."
            ))
    }
}
