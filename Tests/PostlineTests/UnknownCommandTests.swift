import Testing

@testable import Commands

@Suite("Unknown commands")
struct UnknownCommandTests {
    @Test(
        "suggests the nearest command",
        arguments: [
            (["chta"], "`postline` has no command 'chta'. Did you mean 'chat'?", false),
            (["doctro", "--json"], "`postline` has no command 'doctro'. Did you mean 'doctor'?", false),
            (["xyzzy"], "`postline` has no command 'xyzzy'. `postline --help` lists the commands.", false),
            (
                ["admin", "disabel", "--directory", "x"],
                "`postline admin` has no command 'disabel'. Did you mean 'disable'?", true
            ),
            (
                ["admin", "--directory", "x", "user", "alice"],
                "--directory belongs after the command: `postline admin user … --directory …`.", true
            ),
            (["--port", "7000", "dev"], "--port belongs after the command: `postline dev … --port …`.", false),
        ])
    func nearest(words: [String], sentence: String, isAdmin: Bool) {
        let unknown = Postline.unknownCommand(in: words)
        #expect(unknown?.sentence == sentence && unknown?.isAdmin == isAdmin)
    }

    @Test(
        "accepts known commands and options",
        arguments: [
            [], ["chat", "chta"], ["admin", "disable", "x"], ["admin"], ["--version"], ["help", "chat"],
            ["admin", "--help"], ["token", "x"],
        ])
    func known(words: [String]) {
        #expect(Postline.unknownCommand(in: words) == nil)
    }
}
