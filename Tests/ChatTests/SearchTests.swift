import Testing

@testable import Chat

@Suite("Chat search")
struct SearchTests {
    @Test("shows people and messages, with conversation, sender and time")
    func found() throws {
        var scene = Scene()
        scene.say("see you at the lake")
        var model = Fixture.model(scene)
        #expect(model.perform(.search("lake")) == [.effect(.search(query: "lake", purpose: .show))])
        let carol = Fixture.person(Fixture.carol, "Carol Lake", username: "carol")
        let message = try #require(scene.messages[Fixture.direct]?.last)
        let event = ChatEvent.found(query: "lake", users: [carol], messages: [message], purpose: .show)
        let notice = ChatNotice.found([carol], [message], query: "lake")
        #expect(model.handle(event) == [.notice(notice)])
        let lines = LineFormat(showsAvatars: false).lines(notice, model).map(\.text)
        #expect(lines.count == 2 && lines[0] == "  Carol Lake  /open carol")
        #expect(lines[1].hasPrefix("  Bob Brown · Bob Brown · ") && lines[1].hasSuffix(" · see you at the lake"))
        let none = LineFormat(showsAvatars: false).lines(.found([], [], query: "x"), model).map(\.text)
        #expect(none == ["* nobody and no message is found for “x”"])
    }

    @Test("asks for words")
    func incomplete() {
        #expect(TypedLine("/search") == .incomplete(usage: "/search WORDS"))
        #expect(TypedLine("/s the lake") == .search("the lake"))
    }
}
