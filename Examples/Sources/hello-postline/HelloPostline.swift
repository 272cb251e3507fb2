import Foundation
import PostlineClient

/// An app without a screen: it signs in, shows the conversations, says something in the newest, and shows what is said
/// there.
///
///     hello-postline HOST PORT EMAIL PASSWORD TEXT
@main
@MainActor
struct HelloPostline {
    static func main() async throws {
        let arguments = CommandLine.arguments.dropFirst()
        guard arguments.count == 5, let port = Int(arguments[2]) else {
            fatalError("usage: hello-postline HOST PORT EMAIL PASSWORD TEXT")
        }
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("hello-postline-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }

        let client = try PostlineClient(
            server: .line(arguments[1], port: port, isEncrypted: false), store: .file(in: folder))
        try await client.signIn(email: arguments[3], password: arguments[4])
        await until { client.state == .live }

        let me = client.me?.id ?? ""
        for conversation in client.conversations {
            print("\(conversation.name(for: me) ?? "nobody"), \(conversation.unreadCount) unread")
        }

        guard let newest = client.conversations.first else { return print("no conversation") }
        let chat = client.chat(with: newest.id)
        try await chat.send(arguments[5])
        await until { chat.messages.last?.delivery == .sent }
        for message in chat.messages.suffix(3) {
            print("\(message.sender?.displayName ?? "somebody"): \(message.content ?? "deleted")")
        }
        await client.disconnect()
    }

    /// Waits until it is so. A view needs none of this: it is drawn anew whenever what it reads has changed.
    private static func until(_ condition: @MainActor () -> Bool) async {
        while !condition() { try? await Task.sleep(for: .milliseconds(10)) }
    }
}
