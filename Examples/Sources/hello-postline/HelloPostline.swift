import Foundation
import Observation
import Postline

/// Signs in, prints the conversations, sends a message to the newest one, and waits until the server has it.
///
///     hello-postline HOST PORT EMAIL PASSWORD
@main
@MainActor
struct HelloPostline {
    static func main() async {
        let arguments = CommandLine.arguments
        guard arguments.count == 5, let port = Int(arguments[2]) else {
            print("usage: hello-postline HOST PORT EMAIL PASSWORD")
            exit(64)
        }
        // Without TLS, for a server on the same machine.
        let server = Server.line(arguments[1], port: port, isEncrypted: false)
        do {
            try await sayHello(to: server, email: arguments[3], password: arguments[4])
        } catch {
            print(error)
            exit(1)
        }
    }

    private static func sayHello(to server: Server, email: String, password: String) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "hello-postline-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let client = try PostlineClient(server: server, store: .file(in: folder))

        try await client.signIn(email: email, password: password)
        await until { client.state == .live }
        guard let me = client.me, let newest = client.conversations.first else { return print("Nobody to talk to.") }
        print("signed in as \(me.displayName ?? "?")")
        for conversation in client.conversations {
            print("\(conversation.unreadCount) unread in \(conversation.displayName ?? "?")")
        }

        let chat = client.chat(with: newest.id)
        try await chat.send("Hello, Postline.")
        await until { client.pendingChangeCount == 0 }
        if let message = chat.messages.last { print("\(message.delivery): \(message.content ?? "")") }
        try await client.signOut(erasing: true)
    }

    /// Waits until the condition is true. Checks it again when a value that it has read changes.
    private static func until(_ condition: () -> Bool) async {
        while !condition() {
            await withCheckedContinuation { changed in
                withObservationTracking {
                    _ = condition()
                } onChange: {
                    changed.resume()
                }
            }
        }
    }
}
