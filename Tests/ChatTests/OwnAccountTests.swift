import Foundation
import Testing

@testable import Chat
@testable import PostlineClient

@Suite("Own account in the chat")
struct OwnAccountTests {
    private let guestScene = Scene(of: Fixture.me(isGuest: true))

    private func guest() -> ChatModel { Fixture.model(guestScene) }

    @Test("a guest is told so once")
    func guestNotice() {
        var scene = guestScene
        scene.state = .connecting
        var model = Fixture.model(scene)
        scene.state = .live
        #expect(
            model.handle(.shows(scene.shown)) == [.notice(.link(.online)), .notice(.guest), .effect(.fetchCatalogue)])
        scene.state = .offline(since: Fixture.time(0))
        _ = model.handle(.shows(scene.shown))
        scene.state = .live
        #expect(!model.handle(.shows(scene.shown)).contains(.notice(.guest)))
        var account = ChatModel()
        #expect(!account.handle(.shows(Scene().shown)).contains(.notice(.guest)))
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
        _ = model.handle(.catalogue([BuiltInAvatar(id: "fox_red", name: "Red Fox", color: "#e4572e")]))
        let cases: [(String, ProfileEdit.AvatarChoice?)] = [
            ("FOX_RED", .builtIn(id: "fox_red")), ("red fox", .builtIn(id: "fox_red")), ("cat", .builtIn(id: "cat")),
            ("None", nil), ("https://example.com/A.png", .custom(url: "https://example.com/A.png")),
        ]
        for (text, avatar) in cases {
            #expect(model.perform(.avatar(text)) == [.effect(.change(.avatar(avatar)))])
        }
        #expect(model.perform(.avatar(nil)) == [.notice(.avatars)])
    }

    @Test("a change changes just what it is about")
    func changes() {
        let before = ProfileEdit(Fixture.me())
        let cases: [(ProfileChange, [String: JSONValue])] = [
            (.avatar(nil), [:]), (.bio(nil), ["bio": .null]), (.username("a.m"), ["username": "a.m"]),
            (.name("Al"), ["full_name": "Al"]),
        ]
        for (change, params) in cases {
            var edit = before
            change.apply(to: &edit)
            #expect(edit.params(since: before) == params)
        }
    }

    @Test("another's new username and avatar are told, and one's own username with its cooldown")
    func events() {
        var scene = Scene()
        var model = Fixture.model(scene)
        scene.people[Fixture.bob] = Fixture.person(username: "robert", avatarID: "fox")
        #expect(
            model.handle(.shows(scene.shown)) == [
                .notice(.news(.newUsername(userID: Fixture.bob, to: "robert"))),
                .notice(.news(.newAvatar(userID: Fixture.bob))),
            ])
        #expect(model.handle(.shows(scene.shown)).isEmpty)
        let allowedAt = Fixture.time(90 * 24 * 60)
        scene.me = Fixture.me(username: "alice.m", allowedAt: allowedAt)
        #expect(
            model.handle(.shows(scene.shown)) == [.notice(.news(.newUsername(userID: Fixture.alice, to: "alice.m")))])
        let lines = LineFormat(showsAvatars: false)
            .lines(.news(.newUsername(userID: Fixture.alice, to: "alice.m")), model)
        #expect(
            lines.map(\.text) == ["* You are now @alice.m; it can be changed again from \(WallTime(allowedAt).day) on."]
        )
    }

    @Test("an edit of one's own is news once the server has it, and one that it refuses never is")
    func ownEdits() {
        var scene = Scene()
        var model = Fixture.model(scene)
        scene.waiting = 1
        scene.me = Fixture.me(username: "alicia")
        #expect(model.handle(.shows(scene.shown)).isEmpty)
        scene.waiting = 0
        scene.me = Fixture.me()
        #expect(model.handle(.shows(scene.shown)).isEmpty)
        scene.me = Fixture.me(username: "alicia")
        #expect(model.handle(.shows(scene.shown)).count == 1)
    }

    @Test("a guest without a name stays one, and is not taken for somebody deleted")
    func namelessGuest() {
        #expect(Fixture.person("x", nil, username: nil, isGuest: true).shownName == "(guest)")
        #expect(Fixture.person("x", nil, username: nil, isDeleted: true).shownName == "(deleted user)")
    }

    @Test("who signs in to another account begins anew")
    func anotherUser() {
        var scene = Scene()
        var model = Fixture.model(scene)
        _ = model.perform(.open("1"))
        var other = Me.localGuest
        other.profile = Fixture.person(Fixture.carol, "Carol")
        scene = Scene(of: other)
        _ = model.handle(.shows(scene.shown))
        #expect(model.openID == nil && model.followed.isEmpty && model.shown.myID == Fixture.carol)
    }

    @Test("a session that ends elsewhere ends the chat with a sentence, and one that was signed out here does not")
    func ends() {
        var scene = Scene()
        var model = Fixture.model(scene)
        scene.state = .signedOut(nil)
        #expect(model.handle(.shows(scene.shown)).isEmpty)
        scene = Scene(of: nil)
        scene.state = .signedOut(PostlineError(.sessionRevoked, "x"))
        #expect(
            model.handle(.shows(scene.shown)) == [
                .notice(.link(.ended(reason: ChatEnded.revoked.description)))
            ])
    }

    @Test("who signs out while something is not sent is asked once")
    func logout() {
        var scene = Scene()
        var model = Fixture.model(scene)
        #expect(model.perform(.logout(everywhere: false)) == [.effect(.account(.logout(everywhere: false)))])
        scene.waiting = 1
        _ = model.handle(.shows(scene.shown))
        guard case .notice(.failed)? = model.perform(.logout(everywhere: true)).first else {
            Issue.record("it is not asked")
            return
        }
        #expect(model.perform(.logout(everywhere: true)) == [.effect(.account(.logout(everywhere: true)))])
    }

    @Test("that the connection goes is no news to who signs out, unless that failed")
    func logoutIsQuiet() {
        var scene = Scene()
        var model = Fixture.model(scene)
        _ = model.perform(.logout(everywhere: false))
        scene.state = .offline(since: Fixture.time(0))
        #expect(model.handle(.shows(scene.shown)) == [])
        #expect(model.handle(.failed("It failed.")) == [.notice(.failed("It failed."))])
        #expect(model.handle(.shows(scene.shown)) == [.notice(.link(.offline))])
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
        #expect(TypedLine("/delete-account secret") == .incomplete(usage: "/delete-account, and nothing else"))
        #expect(TypedLine("/bio none") == .bio(nil))
        #expect(TypedLine("/bio") == .incomplete(usage: "/bio TEXT, or /bio none"))
    }
}
