import Foundation
import Testing

@testable import Chat
@testable import Postline

@Suite("Own account in the chat")
struct OwnAccountTests {
    private let guestScene = Scene(of: Fixture.me(isGuest: true))

    private func guest() -> ChatModel { Fixture.model(guestScene) }

    @Test("notifies a guest about its account once")
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

    @Test("asks for a new password twice before an upgrade")
    func upgrade() {
        var model = guest()
        #expect(model.perform(.upgrade(email: "a@b.c")) == [.notice(.question(Question(.upgrade(email: "a@b.c"))))])
        _ = model.answer("secret one")
        #expect(model.question != nil)
        let outputs = model.answer("secret one")
        #expect(outputs == [.effect(.account(.upgrade(email: "a@b.c", password: "secret one")))])
        #expect(model.question == nil)
    }

    @Test("rejects guests' commands from accounts, and the reverse")
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

    @Test("chooses an avatar by id, name or URL, or none")
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

    @Test("changes only the given field of the profile")
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

    @Test("announces new usernames and avatars, and the user's own cooldown")
    func events() {
        var scene = Scene()
        var model = Fixture.model(scene)
        scene.users[Fixture.bob] = Fixture.person(username: "robert", avatarID: "fox")
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

    @Test("announces the user's own changes once the server confirms them")
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

    @Test("distinguishes a guest without a name from a deleted user")
    func namelessGuest() {
        #expect(Fixture.person("x", nil, username: nil, isGuest: true).shownName == "(guest)")
        #expect(Fixture.person("x", nil, username: nil, isDeleted: true).shownName == "(deleted user)")
    }

    @Test("resets the chat after a sign-in to another account")
    func anotherUser() {
        var scene = Scene()
        var model = Fixture.model(scene)
        _ = model.perform(.open("1"))
        var other = Me.newGuest("guest")
        other.profile = Fixture.person(Fixture.carol, "Carol")
        scene = Scene(of: other)
        _ = model.handle(.shows(scene.shown))
        #expect(model.openID == nil && model.followed.isEmpty && model.shown.myID == Fixture.carol)
    }

    @Test("ends with a reason if the session was revoked, but not after sign-out")
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

    @Test("asks once before signing out with unsent changes")
    func logout() {
        var scene = Scene()
        var model = Fixture.model(scene)
        #expect(model.perform(.logout(everywhere: false)) == [.effect(.account(.logout(everywhere: false)))])
        scene.waiting = 1
        _ = model.handle(.shows(scene.shown))
        guard case .notice(.failed)? = model.perform(.logout(everywhere: true)).first else {
            Issue.record("the user is not asked")
            return
        }
        #expect(model.perform(.logout(everywhere: true)) == [.effect(.account(.logout(everywhere: true)))])
    }

    @Test("reports a lost connection during sign-out only if the sign-out fails")
    func logoutIsQuiet() {
        var scene = Scene()
        var model = Fixture.model(scene)
        _ = model.perform(.logout(everywhere: false))
        scene.state = .offline(since: Fixture.time(0))
        #expect(model.handle(.shows(scene.shown)) == [])
        #expect(model.handle(.failed("It failed.")) == [.notice(.failed("It failed."))])
        #expect(model.handle(.shows(scene.shown)) == [.notice(.link(.offline))])
    }

    @Test("quits with a message after signing out")
    func signedOut() {
        var model = Fixture.model()
        #expect(model.handle(.signedOut("Bye.")) == [.effect(.quit(saying: "Bye."))])
    }

    @Test("accepts no password in a command")
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
