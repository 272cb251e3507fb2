import Foundation
import Logging
import Postline

/// An app without a user interface, for tests that kill it. It reads one command per line from standard input, and
/// prints the results.
///
///     client-program FOLDER PORT EMAIL PASSWORD
@main
@MainActor
struct ClientProgram {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 5, let port = Int(arguments[2]) else {
            fatalError("usage: client-program FOLDER PORT EMAIL PASSWORD")
        }
        let client = try PostlineClient(
            server: .line("127.0.0.1", port: port, isEncrypted: false),
            store: .file(in: URL(fileURLWithPath: arguments[1])),
            logger: Logger(label: "client") { _ in SwiftLogNoOpLogHandler() })
        while client.account == .signedOut {
            do {
                try await client.signIn(email: arguments[3], password: arguments[4])
            } catch let error as PostlineError where error.isRetryable {
                // A pause between attempts while the server is down.
                try await Task.sleep(for: .milliseconds(50))
            }
        }
        writeLine("ready")
        for await line in lines() {
            let words = line.split(separator: " ", maxSplits: 2).map(String.init)
            do {
                try await perform(words, client)
            } catch {
                writeLine("error \(words[0]): \(error)")
            }
        }
    }

    private static func perform(_ words: [String], _ client: PostlineClient) async throws {
        switch words[0] {
        case "send": writeLine("queued \(try await client.send(words[2], in: words[1]))")
        case "edit":
            if let message = lastMessage(in: words[1], client) { try await client.edit(message, to: words[2]) }
        case "delete":
            if let message = lastMessage(in: words[1], client) { try await client.delete(message) }
        case "read": try await client.markRead(words[1])
        case "bio":
            try await client.updateProfile { $0.bio = words[1] }
            writeLine("edited")
        case "offline": await client.disconnect()
        case "online": try client.connect()
        case "path": client.networkChanged()
        case "snapshot":
            do {
                writeLine("snapshot \(words[1]) \(try await snapshot(client))")
            } catch let error as PostlineError where error.isRetryable {
                writeLine("snapshot \(words[1]) failed: \(error.code)")
            }
        default: writeLine("unknown \(words[0])")
        }
    }

    /// Returns the user's last message that the server has.
    private static func lastMessage(in conversationID: String, _ client: PostlineClient) -> Message? {
        client.chat(with: conversationID).messages.last {
            $0.senderID == client.me?.id && $0.seq != nil && $0.deletedAt == nil
        }
    }

    /// Returns the client's state as JSON: the connection, the pending changes, and the conversations with their
    /// messages.
    private static func snapshot(_ client: PostlineClient) async throws -> String {
        var conversations: [[String: Any]] = []
        for conversation in client.conversations {
            let chat = client.chat(with: conversation.id)
            while chat.hasOlder { try await chat.loadOlder() }
            conversations.append([
                "id": conversation.id, "unread": conversation.unreadCount, "last": conversation.lastSeq,
                "people": conversation.people.map { "\($0.id) \($0.bio ?? "-")" }.sorted(),
                "messages": chat.messages.map { "\($0.seq ?? 0) \($0.senderID) \($0.content ?? "-")" },
            ])
        }
        let snapshot: [String: Any] = [
            "live": client.state == .live, "waiting": client.pendingChangeCount, "conversations": conversations,
        ]
        return String(
            decoding: try JSONSerialization.data(withJSONObject: snapshot, options: [.sortedKeys]), as: UTF8.self)
    }

    private static func writeLine(_ line: String) {
        FileHandle.standardOutput.write(Data((line + "\n").utf8))
    }

    private static func lines() -> AsyncStream<String> {
        AsyncStream { lines in
            Thread.detachNewThread {
                while let line = readLine() { lines.yield(line) }
                lines.finish()
            }
        }
    }
}
