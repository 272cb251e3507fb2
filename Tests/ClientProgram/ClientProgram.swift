import Foundation
import Logging
import PostlineClient

/// An app without a screen, for tests that kill it: it does what standard input says, a line each, and says what it has
/// done.
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
        while client.account == .nobody {
            do {
                try await client.signIn(email: arguments[3], password: arguments[4])
            } catch let error as PostlineError where error.isRetryable {
                // A server that is away is not asked without a pause.
                try await Task.sleep(for: .milliseconds(50))
            }
        }
        say("ready")
        for await line in lines() {
            let words = line.split(separator: " ", maxSplits: 2).map(String.init)
            do {
                try await perform(words, client)
            } catch {
                say("error \(words[0]): \(error)")
            }
        }
    }

    private static func perform(_ words: [String], _ client: PostlineClient) async throws {
        switch words[0] {
        case "send": say("queued \(try await client.send(words[2], in: words[1]))")
        case "edit":
            if let message = own(words[1], client) { try await client.edit(message, to: words[2]) }
        case "delete":
            if let message = own(words[1], client) { try await client.delete(message) }
        case "read": try await client.markRead(words[1])
        case "bio":
            try await client.updateProfile { $0.bio = words[1] }
            say("edited")
        case "offline": await client.disconnect()
        case "online": try client.connect()
        case "path": client.networkChanged()
        case "snapshot":
            do {
                say("snapshot \(words[1]) \(try await snapshot(client))")
            } catch let error as PostlineError where error.isRetryable {
                say("snapshot \(words[1]) cannot be told: \(error.code)")
            }
        default: say("unknown \(words[0])")
        }
    }

    /// A message of the user's own that the server has.
    private static func own(_ conversationID: String, _ client: PostlineClient) -> Message? {
        client.chat(with: conversationID).messages.last {
            $0.senderID == client.me?.id && $0.seq != nil && $0.deletedAt == nil
        }
    }

    /// What there is, as JSON: the state, what waits, and of each conversation what it shows.
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

    private static func say(_ line: String) {
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
