internal import Messaging
import Testing

@testable internal import Chat

@Suite("The own account in the chat")
struct OwnAccountTests {
    private func guest() -> ChatModel {
        var model = ChatModel()
        _ = model.handle(.changes(Fixture.changes(reset: true, me: Fixture.me(isGuest: true))))
        return model
    }

    @Test("a guest is told so once")
    func guestNotice() {
        var model = guest()
        #expect(model.handle(.link(.online)) == [.notice(.link(.online)), .notice(.guest)])
        _ = model.handle(.link(.offline(reason: "x", wait: .seconds(1))))
        #expect(model.handle(.link(.online)) == [.notice(.link(.online))])
        var account = ChatModel()
        _ = account.handle(.changes(Fixture.opening))
        #expect(account.handle(.link(.online)) == [.notice(.link(.online))])
    }

    @Test("an upgrade asks for a password, and the answers go out as one effect and nowhere else")
    func upgrade() {
        var model = guest()
        #expect(model.perform(.upgrade(email: "a@b.c")) == [.notice(.question(Question(.upgrade(email: "a@b.c"))))])
        _ = model.answer("secret one")
        #expect(model.question != nil)
        let outputs = model.answer("secret one")
        #expect(outputs == [.effect(.account(.upgrade(email: "a@b.c", password: "secret one")))])
        #expect(model.question == nil)
    }

    @Test("what is a guest's alone is refused to an account, and the other way round")
    func kinds() {
        var account = Fixture.model()
        for command in [TypedLine.upgrade(email: "a@b.c"), .signIn(email: "a@b.c")] {
            guard case .notice(.failed)? = account.perform(command).first else {
                Issue.record("\(command) is not refused")
                continue
            }
        }
        var guest = guest()
        guard case .notice(.failed)? = guest.perform(.password).first else {
            Issue.record("a guest is asked for a password")
            return
        }
        #expect(account.question == nil && guest.question == nil)
    }

    @Test("an avatar is meant by id, name, address or none")
    func avatar() {
        var model = Fixture.model()
        let fox = [Fixture.builtIn("fox_red", "Red Fox", "#e4572e")].compactMap(BuiltInAvatar.init)
        _ = model.handle(.catalogue(fox))
        let cases: [(String, Avatar)] = [
            ("FOX_RED", .builtIn(id: "fox_red")), ("red fox", .builtIn(id: "fox_red")), ("cat", .builtIn(id: "cat")),
            ("None", .none), ("https://example.com/A.png", .custom(url: "https://example.com/A.png")),
        ]
        for (text, avatar) in cases {
            #expect(model.perform(.avatar(text)) == [.effect(.change(.avatar(avatar)))])
        }
        #expect(model.perform(.avatar(nil)) == [.notice(.avatars)])
    }

    @Test("a change sends just what it is about")
    func params() {
        #expect(ProfileChange.avatar(.none).params.text == #"{"avatar_type":null}"#)
        #expect(
            ProfileChange.avatar(.builtIn(id: "fox")).params.text == #"{"avatar_type":"built_in","avatar_id":"fox"}"#)
        #expect(ProfileChange.bio(nil).params.text == #"{"bio":null}"#)
        #expect(ProfileChange.username("a.m").method == "me.change_username")
    }

    @Test("another's new username and avatar are told, and one's own username with its cooldown")
    func events() throws {
        var world = Fixture.world()
        let bob = Fixture.person(Fixture.bob, "Bob Brown", username: "robert", version: 2, avatarID: "fox")
        #expect(
            world.apply(Fixture.changes(profiles: [bob])) == [
                .newUsername(userID: Fixture.bob, to: "robert"), .newAvatar(userID: Fixture.bob),
            ])
        #expect(world.apply(Fixture.changes(profiles: [bob])).isEmpty)

        var model = Fixture.model()
        let me = Fixture.me(version: 2, username: "alice.m", allowedAt: "2027-02-18T12:00:00.000000Z")
        let outputs = model.handle(.me(try #require(Me(me))))
        #expect(outputs == [.notice(.world(.newUsername(userID: Fixture.alice, to: "alice.m")))])
        let lines = LineFormat(showsAvatars: false)
            .lines(.world(.newUsername(userID: Fixture.alice, to: "alice.m")), model)
        #expect(
            lines.map(\.text) == [
                "* You are now @alice.m; it can be changed again from Thursday 18 February 2027 on."
            ])
    }

    @Test("a guest without a name stays one when it writes, and is not taken for somebody deleted")
    func namelessGuest() {
        let guest = Fixture.person(Fixture.carol, nil)
        var world = World()
        _ = world.apply(
            Fixture.changes(
                reset: true, me: Fixture.me(), profiles: [guest], conversations: [Fixture.conversation()]))
        #expect(world.name(of: Fixture.carol) == "(guest)")
        let message = Fixture.message(1, "hello", from: Fixture.carol, name: nil)
        #expect(world.apply(Fixture.changes(messages: [message])).count == 1)
        #expect(world.name(of: Fixture.carol) == "(guest)")
        let stranger = Fixture.message(2, "hello", from: "x", name: nil)
        _ = world.apply(Fixture.changes(messages: [stranger]))
        #expect(world.name(of: "x") == "(no name)")
    }

    @Test("the own data are replaced by newer ones only")
    func version() throws {
        var world = Fixture.world()
        _ = world.apply(try #require(Me(Fixture.me(version: 3, username: "new"))))
        _ = world.apply(try #require(Me(Fixture.me(version: 2, username: "old"))))
        #expect(world.me?.person.username == "new" && world.people[Fixture.alice]?.username == "new")
        _ = world.apply(Fixture.changes(reset: true, me: Fixture.person(Fixture.bob, "Bob", version: 1)))
        #expect(world.myID == Fixture.bob)
    }

    @Test("who signs out leaves, with a word")
    func signedOut() {
        var model = Fixture.model()
        #expect(model.handle(.signedOut("Bye.")) == [.effect(.quit(saying: "Bye."))])
    }

    @Test("passwords are never part of a command")
    func commands() {
        #expect(TypedLine("/password secret") == .incomplete(usage: "/password, and nothing else"))
        #expect(TypedLine("/upgrade a@b.c") == .upgrade(email: "a@b.c"))
        #expect(TypedLine("/upgrade nobody") == .incomplete(usage: "/upgrade EMAIL"))
        #expect(TypedLine("/login a@b.c secret") == .incomplete(usage: "/login EMAIL"))
        #expect(TypedLine("/logout all") == .logout(everywhere: true))
        #expect(TypedLine("/bio none") == .bio(nil))
        #expect(TypedLine("/bio") == .incomplete(usage: "/bio TEXT, or /bio none"))
    }

    @Test("access tokens are renewed in the middle of their life")
    func renewal() throws {
        let now = ContinuousClock.now
        let answer = JSON.object([
            "access_token": .string("a"), "refresh_token": .string("r"), "expires_in": .integer(3600),
        ])
        #expect(try SessionTokens(answer, now: now).renewal == now + .seconds(1800))
        #expect(SessionTokens(access: "a").renewal == nil)
        #expect(throws: (any Error).self) { try SessionTokens(.object(["access_token": .string("a")])) }
    }
}
