import Foundations
import TestSupport
import Testing

@testable import Chat
@testable import Postline

@Suite("Completion in the input line")
struct CompletionTests {
    private func model(inGroup: Bool = false) -> ChatModel {
        var scene = Scene()
        scene.users[Fixture.bob] = Fixture.person(Fixture.bob, "Bob Brown", username: "bob")
        scene.users[Fixture.carol] = Fixture.person(Fixture.carol, "Carol Clay", username: "cc")
        scene.add(Fixture.group, title: "Alps", members: [Fixture.alice, Fixture.carol])
        var model = Fixture.model(scene)
        if inGroup { _ = model.perform(.open("alps")) }
        return model
    }

    private func candidates(_ line: String, inGroup: Bool = false) -> [String]? {
        Completion(line, model(inGroup: inGroup))?.candidates
    }

    @Test("completes commands after a slash")
    func commands() {
        #expect(candidates("/re") == ["/remove ", "/rename ", "/reply ", "/react ", "/report ", "/refused", "/retry "])
        #expect(candidates("/OP") == ["/open "])
        #expect(candidates("/xyz") == [])
        #expect(candidates("/")?.contains("/quit") == true && candidates("/")?.contains("/help") == true)
    }

    @Test("offers only known commands")
    func understood() {
        for command in Help.commands.flatMap(\.rows).compactMap(\.command) {
            if case .unknown? = TypedLine(command) { Issue.record("\(command) is unknown") }
        }
    }

    @Test("completes names by their start, by a word or by username")
    func names() {
        #expect(candidates("/open ") == ["Bob Brown", "Alps", "Carol Clay"])
        #expect(candidates("/open br") == ["Bob Brown"])
        #expect(candidates("/open CC") == ["Carol Clay"])
        #expect(candidates("/open @cc") == ["Carol Clay"])
        #expect(candidates("/search ca") == ["Carol Clay"])
        #expect(candidates("/group Trip with bob, c") == ["Carol Clay"])
        #expect(candidates("/group Trip") == nil)
    }

    @Test("completes members and roles in a group")
    func group() {
        #expect(candidates("/remove ", inGroup: true) == ["Carol Clay"])
        #expect(candidates("/add ", inGroup: true) == ["Bob Brown"])
        #expect(candidates("/role c", inGroup: true) == ["Carol Clay "])
        #expect(candidates("/role Carol Clay a", inGroup: true) == ["admin"])
        #expect(candidates("/remove ") == [])
    }

    @Test("completes usernames after @ in a text, members' first")
    func mentions() {
        #expect(candidates("hello @b") == ["@bob "])
        #expect(candidates("@", inGroup: true) == ["@cc ", "@bob "])
        #expect(candidates("hello") == nil && candidates("") == nil && candidates("a@b") == nil)
        #expect(candidates("/name x") == nil)
    }

    @Test("distinguishes users of the same name by username")
    func sameName() {
        var scene = Scene()
        scene.users[Fixture.bob] = Fixture.person(Fixture.bob, "Sam", username: "sam1")
        scene.users[Fixture.carol] = Fixture.person(Fixture.carol, "Sam", username: "sam2")
        scene.add(Fixture.group, title: "Alps", members: [Fixture.alice, Fixture.bob, Fixture.carol])
        var model = Fixture.model(scene)
        _ = model.perform(.open("alps"))
        #expect(Completion("/remove sa", model)?.candidates == ["sam1", "sam2"])
    }

    @Test("cycles candidates by Tab, goes back by Shift-Tab, and undoes by Esc")
    func cycling() {
        var screen = ScreenModel(address: "127.0.0.1:7432", chat: model())
        func foot() -> String { screen.frame(width: 60, height: 20).rows[19].text }
        for key in [Key.text("/"), .text("r"), .tab] { _ = screen.handle(key) }
        #expect(
            screen.editor.text == "/r" && foot().contains("/remove  /role  /rename  /reply  /react  /report  "))
        _ = screen.handle(.text("e"))
        #expect(screen.completion == nil)
        for (key, text) in [
            (Key.tab, "/re"), (.tab, "/remove "), (.tab, "/rename "), (.backTab, "/remove "), (.backTab, "/retry "),
            (.tab, "/remove "), (.escape, "/re"),
        ] {
            _ = screen.handle(key)
            #expect(screen.editor.text == text)
        }
        for key in [Key.deleteToStart, .text("/"), .text("q"), .tab] { _ = screen.handle(key) }
        #expect(screen.editor.text == "/quit" && screen.handle(.enter) == [.quit(saying: nil)])
        for key in [Key.text("/"), .text("x"), .tab] { _ = screen.handle(key) }
        #expect(foot().contains("Nothing begins with “/x”."))
    }

    @Test("keeps the chosen candidate visible on a narrow screen")
    func narrow() {
        guard var completion = Completion("/", model()) else {
            Issue.record("there are no candidates")
            return
        }
        for _ in completion.candidates {
            completion.choose(by: 1)
            let row = completion.row(width: 30)
            #expect(row.width == 30 && row.text.contains(completion.text.trimmed))
        }
    }
}
