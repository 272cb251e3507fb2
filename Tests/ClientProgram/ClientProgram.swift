import Foundation
import Logging
import Postline

/// A client program of the conformance tests (`Tests/Conformance/README.md`): an app without a user interface.
///
///     client-program FOLDER PORT HTTP_PORT [shared | extension]
///
/// With `shared` several programs use the folder at the same time, and an `extension` starts in the background.
@main
@MainActor
struct ClientProgram {
    private let client: PostlineClient
    private let received = ReceivedMessages()

    static func main() async throws {
        let arguments = CommandLine.arguments
        guard 4...5 ~= arguments.count, let port = Int(arguments[2]) else {
            fatalError("usage: client-program FOLDER PORT HTTP_PORT [shared | extension]")
        }
        let folder = URL(fileURLWithPath: arguments[1])
        let client = try PostlineClient(
            server: .line("127.0.0.1", port: port, isEncrypted: false),
            store: arguments.count == 5 ? .shared(in: folder) : .file(in: folder),
            isInBackground: arguments.last == "extension",
            logger: Logger(label: "client") { _ in SwiftLogNoOpLogHandler() })
        let program = ClientProgram(client: client)
        // The task ends with the program.
        Task { [events = client.events, received = program.received] in
            for await event in events {
                if case .messageReceived(let message) = event { received.contents.append(message.content ?? "") }
            }
        }
        for await line in lines() {
            let response = await program.response(to: try JSONDecoder().decode(Request.self, from: Data(line.utf8)))
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            FileHandle.standardOutput.write(try encoder.encode(response) + Data("\n".utf8))
        }
    }

    private func response(to request: Request) async -> [String: JSONValue] {
        do {
            return ["id": request.id, "result": try await result(of: request)]
        } catch let error as PostlineError {
            var object: [String: JSONValue] = [
                "code": .string(error.code.rawValue), "message": .string(error.message),
            ]
            if let field = error.field { object["field"] = .string(field) }
            return ["id": request.id, "error": .object(object)]
        } catch {
            return ["id": request.id, "error": ["code": "failed", "message": .string("\(error)")]]
        }
    }

    private func result(of request: Request) async throws -> JSONValue {
        switch request.action {
        case "signIn": try await signIn(email: try request.text("email"), password: try request.text("password"))
        case "signInAsGuest": try await client.signInAsGuest()
        case "upgrade":
            try await client.upgrade(
                email: try request.text("email"), password: try request.text("password"),
                fullName: try request.text("full_name"))
        case "signOut": try await client.signOut()
        case "deleteAccount": try await client.deleteAccount(password: try request.text("password"))
        case "connect": try client.connect()
        case "disconnect": await client.disconnect()
        case "networkChanged": client.networkChanged()
        case "enterBackground": await client.enterBackground()
        case "enterForeground": await client.enterForeground()
        case "continueAsGuest": try client.continueAsGuest()
        case "handle":
            let push = PushPayload(userInfo: [
                "conversation_id": try request.text("conversation"), "seq": try request.number("seq"),
            ])
            guard let push else { throw PostlineError(.invalidParams, "This is no push.") }
            return ["is_new": .bool(await client.handle(push))]
        case "sync": return ["is_done": .bool(await client.sync())]
        case "accessToken": return ["token": .string(try await client.accessToken().value)]
        case "received": return ["contents": .array(received.contents.map { .string($0) })]
        case "open":
            let id = try await client.openConversation(with: User.ID(try request.text("user")))
            return ["conversation": .string(id.rawValue)]
        case "createGroup":
            let id = try await client.createGroup(
                try request.text("title"), with: try request.texts("users").map { User.ID($0) })
            return ["conversation": .string(id.rawValue)]
        case "send":
            let id = try await client.send(try request.text("text"), in: try request.conversation)
            return ["client_id": .string(id.rawValue)]
        case "reply":
            let details = MessageDetails(
                replyTo: try await lastMessage(in: request.conversation),
                mentions: try request.texts("mentions", default: []).map { User.ID($0) })
            let id = try await client.send(try request.text("text"), in: try request.conversation, details: details)
            return ["client_id": .string(id.rawValue)]
        case "sendFiles":
            let id = try await client.send(
                attachments: try request.files, text: (try? request.text("text")) ?? "", in: try request.conversation)
            return ["client_id": .string(id.rawValue)]
        case "edit":
            try await client.edit(
                try await lastMessage(in: request.conversation, isMine: true), to: try request.text("text"))
        case "delete": try await client.delete(try await lastMessage(in: request.conversation, isMine: true))
        case "markRead": try await client.markRead(try request.conversation)
        case "react":
            try await client.react(
                to: try await lastMessage(in: request.conversation), with: try request.text("emoji"),
                isSet: request.flag("is_set") ?? true)
        case "pin":
            let message = try await lastMessage(in: request.conversation)
            if request.flag("is_pinned") ?? true {
                try await client.pin(message)
            } else {
                try await client.unpin(message)
            }
        case "set":
            let id = try request.conversation
            for (name, value) in try request.object("settings") {
                switch name {
                case "is_marked_unread": try await client.setMarkedUnread(value == true, of: id)
                case "is_archived": try await client.setArchived(value == true, of: id)
                case "is_pinned": try await client.setPinned(value == true, of: id)
                default: throw PostlineError(.invalidParams, "There is no setting \(name).", field: name)
                }
            }
        case "updateProfile":
            let fields = try request.object("fields")
            try await client.updateProfile { edit in
                if let name = fields["full_name"] { edit.fullName = name.text }
                if let bio = fields["bio"] { edit.bio = bio.text }
                if let location = fields["location"] { edit.location = location.text }
            }
        case "block": try await client.block(User.ID(try request.text("user")))
        case "unblock": try await client.unblock(User.ID(try request.text("user")))
        case "search":
            let page = try await client.searchMessages(try request.text("query"))
            return ["contents": .array(page.messages.map { .optional($0.content) })]
        case "report":
            let reason = ReportReason(rawValue: try request.text("reason"))
            if let user = try? request.text("user") {
                try await client.report(userID: User.ID(user), reason: reason)
            } else {
                try await client.report(try await lastMessage(in: request.conversation), reason: reason)
            }
        case "retry": for change in client.refusedChanges { try await client.retryChange(change.id) }
        case "discard": for change in client.refusedChanges { try await client.discardChange(change.id) }
        case "state": return try await state()
        default: throw PostlineError(.unknownMethod, "There is no request “\(request.action)”.")
        }
        return [:]
    }

    /// Signs in, and tries again while the server is down.
    private func signIn(email: String, password: String) async throws {
        while true {
            do {
                try await client.signIn(email: email, password: password)
                return
            } catch {
                guard error.isRetryable, client.account == .signedOut else { throw error }
                // A pause between attempts.
                try await Task.sleep(for: .milliseconds(50))
            }
        }
    }

    /// Returns the last message that the server has and that is not deleted, or the user's own last one.
    private func lastMessage(in id: Conversation.ID, isMine: Bool = false) async throws -> Message {
        let chat = client.chat(with: id)
        try await chat.load()
        let message = chat.messages.last {
            $0.seq != nil && $0.deletedAt == nil && $0.kind != .system && (!isMine || $0.isMine)
        }
        guard let message else { throw PostlineError(.notFound, "There is no such message in this conversation.") }
        return message
    }

    private func state() async throws -> JSONValue {
        var conversations: [JSONValue] = []
        for conversation in client.conversations {
            let chat = client.chat(with: conversation.id)
            chat.maxMessages = .max
            try await chat.load()
            while chat.hasOlder { try await chat.loadOlder() }
            conversations.append([
                "id": .string(conversation.id.rawValue), "title": .optional(conversation.title),
                "unread": .integer(conversation.unreadCount), "last_seq": .integer(conversation.lastSeq),
                "unread_mentions": .integer(conversation.unreadMentions),
                "is_marked_unread": .bool(conversation.isMarkedUnread), "is_archived": .bool(conversation.isArchived),
                "is_pinned": .bool(conversation.isPinned),
                "pinned_seqs": .array(conversation.pinnedSeqs.map { .integer($0) }),
                "is_blocked": .bool(conversation.isBlocked),
                "is_last_message_blocked": .bool(conversation.isLastMessageBlocked),
                "data": conversation.data.map { .object($0) } ?? .null,
                "members": .array(conversation.users.sorted { $0.id < $1.id }.map(Self.object)),
                "messages": .array(chat.messages.map(Self.object)),
            ])
        }
        return [
            "account": .string(account), "live": .bool(client.state == .live),
            "me": client.me.map { Self.object($0.profile) } ?? .null, "pending": .integer(client.pendingChangeCount),
            "refused": .array(client.refusedChanges.map { ["code": .string($0.error.code.rawValue)] }),
            "unread": .integer(client.unreadCount),
            "blocked": .array(client.blockedUserIDs.map { .string($0.rawValue) }),
            "conversations": .array(conversations),
        ]
    }

    private var account: String {
        switch client.account {
        case .signedOut, .signingIn: "signedOut"
        case .localGuest, .guest: "guest"
        case .user: "user"
        }
    }

    private static func object(_ user: User) -> JSONValue {
        ["id": .string(user.id.rawValue), "full_name": .optional(user.fullName), "bio": .optional(user.bio)]
    }

    private static func object(_ message: Message) -> JSONValue {
        let delivery =
            switch message.delivery {
            case .sent: "sent"
            case .queued: "pending"
            case .refused: "refused"
            }
        return [
            "seq": message.seq.map { .integer($0) } ?? .null, "sender": .string(message.senderID.rawValue),
            "kind": .string(message.kind.rawValue),
            "attachments": .array(
                message.attachments.map { attachment in
                    [
                        "name": .optional(attachment.name), "mime_type": .optional(attachment.mimeType),
                        "bytes": attachment.bytes.map { .integer($0) } ?? .null,
                        "duration_ms": attachment.duration.map { .integer(Int($0 / .milliseconds(1))) } ?? .null,
                    ]
                }),
            "content": .optional(message.content), "deleted": .bool(message.deletedAt != nil),
            "edited": .bool(message.editedAt != nil), "streaming": .bool(message.isStreaming),
            "delivery": .string(delivery), "blocked": .bool(message.isBlocked),
            "reply_to": message.replyTo.map {
                ["seq": .integer($0.seq), "content": .optional($0.content), "blocked": .bool($0.isBlocked)]
            } ?? .null,
            "mentions": .array(message.mentions.sorted().map { .string($0.rawValue) }),
            "mentions_everyone": .bool(message.mentionsEveryone),
            "data": message.data.map { .object($0) } ?? .null,
            "reactions": .array(
                message.reactions.sorted { $0.emoji < $1.emoji }.map {
                    ["emoji": .string($0.emoji), "count": .integer($0.count), "own": .bool($0.isMine)]
                }),
        ]
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

/// The contents of the messages of all `messageReceived` events.
@MainActor
private final class ReceivedMessages {
    var contents: [String] = []
}

/// A request to the program.
private struct Request: Decodable {
    let id: JSONValue
    let action: String
    let params: [String: JSONValue]

    init(from decoder: any Decoder) throws {
        params = try [String: JSONValue](from: decoder)
        id = params["id"] ?? .null
        action = params["do"]?.text ?? ""
    }

    var conversation: Conversation.ID {
        get throws { Conversation.ID(try text("conversation")) }
    }

    /// The files to send: `begin` is how each begins, and `bytes` its size.
    var files: [OutgoingAttachment] {
        get throws {
            guard case .array(let files)? = params["files"] else { throw missing("files") }
            return try files.map { file in
                guard case .object(let file) = file, let type = file["type"]?.text,
                    case .integer(let bytes)? = file["bytes"]
                else { throw missing("files") }
                var data = Data((file["begin"]?.text ?? "").utf8)
                data.append(Data(repeating: UInt8(ascii: "x"), count: max(0, bytes - data.count)))
                var attachment = OutgoingAttachment(data, name: file["name"]?.text, mimeType: type)
                if case .integer(let duration)? = file["duration_ms"] { attachment.duration = .milliseconds(duration) }
                return attachment
            }
        }
    }

    func text(_ name: String) throws -> String {
        guard case .string(let text)? = params[name] else { throw missing(name) }
        return text
    }

    func number(_ name: String) throws -> Int {
        guard case .integer(let number)? = params[name] else { throw missing(name) }
        return number
    }

    /// Returns a param that is true or false, or nil if it is missing.
    func flag(_ name: String) -> Bool? {
        guard case .bool(let flag)? = params[name] else { return nil }
        return flag
    }

    func texts(_ name: String, default fallback: [String]? = nil) throws -> [String] {
        if let fallback, params[name] == nil { return fallback }
        guard case .array(let values)? = params[name] else { throw missing(name) }
        return values.compactMap(\.text)
    }

    func object(_ name: String) throws -> [String: JSONValue] {
        guard case .object(let object)? = params[name] else { throw missing(name) }
        return object
    }

    private func missing(_ name: String) -> PostlineError {
        PostlineError(.invalidParams, "\(name) is missing", field: name)
    }
}

extension JSONValue {
    /// The string, or nil for another value.
    fileprivate var text: String? {
        guard case .string(let text) = self else { return nil }
        return text
    }

    /// Returns a string, or null for nil.
    fileprivate static func optional(_ text: String?) -> JSONValue { text.map { .string($0) } ?? .null }
}
