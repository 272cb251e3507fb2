import Foundations
import ArgumentParser
import SystemPackage

/// `postline chat`. It executes the program `postline-chat` in the same directory, which is built from the client
/// package.
struct ChatCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "chat",
        abstract: "Talk in the terminal.",
        discussion: "`postline chat --help` lists its options.")

    @Argument(parsing: .captureForPassthrough, help: "An email address, and options.")
    var arguments: [String] = []

    func run() throws {
        let program = Self.program
        var arguments = unsafe ([program.string] + arguments).map { unsafe strdup($0) } + [nil]
        // execv returns only on failure; the copies are freed with the process.
        unsafe execv(program.string, &arguments)
        throw CommandFailure.say(Self.absence(of: program.string), .failure)
    }

    /// Returns an error that the program is missing, with the command that builds it.
    static func absence(of program: String) -> String {
        let isRelease = FilePath(program).removingLastComponent().lastComponent == "release"
        let build = "swift build\(isRelease ? " -c release" : "") --product postline-chat"
        return "The chat is a separate program, and \(program) does not exist: build it with `\(build)`."
    }

    private static var program: FilePath {
        #if os(Linux)
        let link = "/proc/self/exe"
        #else
        let link = CommandLine.arguments.first ?? "postline"
        #endif
        // realpath allocates its result, which is copied and freed here.
        guard let path = unsafe realpath(link, nil) else { return "postline-chat" }
        defer { unsafe free(path) }
        return FilePath(unsafe String(cString: path)).removingLastComponent().appending("postline-chat")
    }
}
