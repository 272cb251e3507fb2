import Foundation
import Postline

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Calls that docs/client.md and the DocC articles quote and that no view makes.
@MainActor
struct Calls {
    let client: PostlineClient
    let email: String
    let password: String
    let token: String

    func signInAndOut() async throws {
        try await client.register(email: email, password: password, fullName: "Robin Ray")
        try await client.signIn(email: email, password: password)
        try await client.signIn(accessToken: token)
        try client.continueAsGuest()
        try await client.upgrade(email: email, password: password, fullName: "Robin Ray")
        try await client.signOut()
    }

    func startConversation() async throws -> Chat? {
        guard let carol = try await client.searchProfiles("carol").first else { return nil }
        let id = try await client.openConversation(with: carol.id)
        return client.chat(with: id)
    }

    /// Returns a request to the app's own server, which verifies the token as Postline does.
    func authorizedRequest(to url: URL) async throws -> URLRequest {
        var request = URLRequest(url: url)
        let token = try await client.accessToken()
        request.setValue("Bearer \(token.value)", forHTTPHeaderField: "Authorization")
        return request
    }

    func write(_ chat: Chat, _ message: Message) async throws {
        try await chat.send("Hello")
        try await client.edit(message, to: "Hello, all")
        try await client.delete(message)
        try await chat.markRead()
        try await chat.setDraft("Dear Bob")
        try await client.updateProfile { $0.fullName = "Alice" }
    }

    func reply(in chat: Chat, to message: Message, _ bob: User) async throws {
        try await chat.send(
            "At noon, @bob?",
            details: MessageDetails(replyTo: message, mentions: [bob.id], data: ["place": "lake"]))
        try await client.react(to: message, with: "👍")
        try await client.react(to: message, with: "👍", isSet: false)
        try await client.pin(message)
        try await client.unpin(message)
    }

    func sendVoiceMessage(in chat: Chat, _ recording: URL, _ loudness: [UInt8]) async throws {
        var voice = OutgoingAttachment(contentsOf: recording, name: "Voice message.m4a")
        (voice.duration, voice.waveform) = (.seconds(12), loudness)
        try await chat.send(attachments: [voice])
    }

    func scheduleFile(_ file: URL, in id: Conversation.ID, at time: Date) async throws {
        let contract = try await client.upload(OutgoingAttachment(contentsOf: file), for: id)
        try await client.schedule("The contract", in: id, at: time, attachments: [contract])
    }

    func saveFiles(of message: Message, in folder: URL) async throws {
        for attachment in message.attachments {
            let file = folder.appending(path: attachment.suggestedFilename)
            try await client.download(attachment, to: file) { print($0.fractionCompleted ?? 0) }
        }
    }

    func sendPoll(in chat: Chat) async throws {
        let poll: [String: JSONValue] = ["question": "When?", "options": ["noon", "one"]]
        try await chat.send("A poll: When?", details: MessageDetails(data: poll, isCustom: true))
    }

    func tidyUp(_ id: Conversation.ID) async throws {
        try await client.setMarkedUnread(true, of: id)
        try await client.setArchived(true, of: id)
        try await client.setPinned(true, of: id)
    }

    func schedule(in id: Conversation.ID) async throws {
        let tomorrow = Date(timeIntervalSinceNow: 86_400)
        try await client.schedule("Happy birthday!", in: id, at: tomorrow)
        for message in try await client.scheduledMessages(in: id) where message.error != nil {
            try await client.unschedule(message)
        }
    }

    func stream(_ answer: AsyncStream<String>, in id: Conversation.ID) async throws {
        let stream = try await client.stream(in: id)
        for await text in answer { try await stream.append(text) }
        try await stream.finish()
    }

    func changeGroup(of bob: User.ID, and carol: User.ID) async throws {
        let group = try await client.createGroup("Trip", with: [bob])
        try await client.addMembers([carol], to: group)
        try await client.renameGroup(group, to: "Trip to Rome")
        try await client.setRole(.admin, of: carol, in: group)
        try await client.removeMember(bob, from: group)
        try await client.leaveGroup(group)
    }

    func shownConversations() -> [Conversation] {
        let shown = client.conversations.filter { !$0.isArchived }
        return shown.filter(\.isPinned) + shown.filter { !$0.isPinned }
    }

    func printReactions(to message: Message) async throws {
        var page = try await client.reactions(to: message)
        var reactions = page.reactions
        while let next = page.next {
            page = try await client.reactions(to: message, after: next)
            reactions += page.reactions
        }
        for reaction in reactions { print(reaction.emoji, reaction.userID, reaction.createdAt) }
    }

    func changeBlock(of user: User) async throws {
        try await client.block(user.id)
        let isBlocked = client.blockedUserIDs.contains(user.id)
        print("\(user.displayName ?? "?"): \(isBlocked)")
        try await client.unblock(user.id)
    }

    func search(for words: String) async throws -> [Message] {
        var page = try await client.searchMessages(words)
        var found = page.messages
        while let next = page.next {
            page = try await client.searchMessages(words, before: next)
            found += page.messages
        }
        return found
    }

    func endAccount(_ password: String, _ newPassword: String) async throws {
        try await client.changePassword(from: password, to: newPassword)
        try await client.deleteAccount(password: newPassword)
    }

    func thread(of message: Message) async throws -> [Message] {
        var replies = try await client.replies(to: message)
        while let first = replies.first {
            let older = try await client.replies(to: message, before: first)
            if older.isEmpty { break }
            replies = older + replies
        }
        return replies
    }

    func printEvents() async {
        for await event in client.events {
            switch event {
            case .messageReceived(let message): print("\(message.sender?.displayName ?? "?"): \(message.content ?? "")")
            case .changeRefused(let change): print("refused: \(change.error.localizedDescription)")
            case .stateChanged(.signedOut(let reason)): print(reason?.localizedDescription ?? "signed out")
            case .stateChanged(let state): print("\(state)")
            case .missed(let count): print("\(count) events were dropped")
            }
        }
    }

    func retryOrDiscard(_ message: Message) async throws {
        switch message.delivery {
        case .sent: break
        case .queued(let change): try await client.discardChange(change)
        case .refused(let error, let change):
            if error.isRetryable {
                try await client.retryChange(change)
            } else {
                try await client.discardChange(change)
            }
        }
    }

    static func withOldSettings(_ server: Server, _ folder: URL) throws -> PostlineClient {
        try PostlineClient(server: server, store: .file(in: folder), legacyData: OldSettings())
    }

    /// Returns the client of an extension, with the folder and the secrets of its app.
    static func ofExtension(_ server: Server, _ group: URL, _ secrets: any SecretStore) throws -> PostlineClient {
        try PostlineClient(
            server: server, store: .shared(in: group.appending(path: "Postline")), secrets: secrets,
            isInBackground: true)
    }

    static func preview() -> PostlineClient {
        let robin = User(id: "robin", fullName: "Robin Ray")
        let carol = User(id: "carol", fullName: "Carol Jensen")
        let plans = Conversation(id: "plans", myID: robin.id, users: [robin, carol])
        let hello = Message(
            id: "hello", conversationID: plans.id, seq: 1, senderID: carol.id, content: "Where shall we go?")
        return .preview(me: robin, conversations: [plans], messages: [hello])
    }

    static func translateErrors(_ sentences: [PostlineError.Code: String]) {
        PostlineError.customSentence = { sentences[$0.code] }
    }

    static func onThisMachine(_ folder: URL) throws -> PostlineClient {
        try PostlineClient(server: .line("127.0.0.1", isEncrypted: false), store: .file(in: folder))
    }
}
