import BoundedWait
import Foundation
import TestSupport
import Testing

@testable import Postline

@Suite("Client outbox")
@MainActor
struct ClientOutboxTests {
    @Test(
        "offline writes are shown, survive a restart, and are sent once in order",
        .covers("C36", "E16"))
    func offline() async throws {
        try await TestDatabase.with { database in
            let node = try await ServeProcess.start(database, port: try await unusedPort())
            try await AppDevice.with(.node(node.port)) { device in
                try await device.signIn(.alice)
                try await node.kill()
                try await device.waitUntil("the offline state") { if case .offline = $0.state { true } else { false } }
                let before = try await device.client.loadedChat(with: .aliceBob).messages
                let written = (1...20).map { "written offline \($0)" }
                for content in written { try await device.client.send(content, in: .aliceBob) }
                try await device.client.updateProfile { $0.fullName = "Alice Away" }
                try await device.client.markRead(.alps)
                #expect(device.client.me?.fullName == "Alice Away")
                try await device.relaunch()
                let chat = try await device.client.loadedChat(with: .aliceBob)
                #expect(chat.messages.dropFirst(before.count).map(\.content) == written)
                #expect(chat.messages.dropFirst(before.count).allSatisfy { $0.delivery.isQueued && $0.seq == nil })
                #expect(chat.messages.prefix(before.count).map(\.id) == before.map(\.id))
                #expect(device.client.me?.fullName == "Alice Away")
                #expect(device.client.conversations.first { $0.id == .alps }?.unreadCount == 0)
                let ids = chat.messages.map(\.id)
                let again = try await ServeProcess.start(database, port: node.port)
                defer { again.command.signal(SIGKILL) }
                device.client.networkChanged()
                try await device.waitUntil("an empty outbox") { _ in chat.messages.allSatisfy { $0.delivery == .sent }
                }
                // The ids of the messages stay the same for views.
                #expect(chat.messages.map(\.id) == ids)
                #expect(
                    try await database.column(
                        """
                        select content from messages where conversation_id = '\(Room.aliceBob)'
                        and content like 'written%' order by seq
                        """) == written)
                try await device.waitUntil("the profile") {
                    $0.refusedChanges.isEmpty && $0.me?.fullName == "Alice Away"
                }
                try await database.wait(
                    for: "select full_name from user_profiles where id = '\(Person.alice.id)'", toBe: "Alice Away")
            }
        }
    }

    @Test("an invalid edit is refused and does not block others")
    func strangeEdits() async throws {
        try await TestDatabase.with { database in
            let node = try await ServeProcess.start(database, port: try await unusedPort())
            try await AppDevice.with(.node(node.port)) { device in
                try await device.signIn(.alice)
                try await node.kill()
                await #expect {
                    try await device.client.updateProfile { $0.heightCM = .nan }
                } throws: { error in
                    (error as? PostlineError)?.code == .invalidParams
                }
                try await device.client.updateProfile { $0.fullName = nil }
                try await device.client.updateProfile { $0.bio = "kept" }
                // Such an edit may come from an earlier version of the app.
                await device.client.disconnect()
                let store = try Store(folder: device.folder, userID: .alice)
                try store.writeNow {
                    try $0.enqueue(.save, queueKey: QueuedChange.profileQueueKey, ["attributes": "none"])
                }
                try store.close(erasing: false)
                try await device.relaunch()
                #expect(device.client.me?.bio == "kept" && device.client.pendingChangeCount == 3)
                let again = try await ServeProcess.start(database, port: node.port)
                defer { again.command.signal(SIGKILL) }
                device.client.networkChanged()
                try await device.waitUntil("the refusals") { $0.pendingChangeCount == 0 }
                #expect(device.client.refusedChanges.map(\.error.field) == ["full_name", "attributes"])
                #expect(device.client.me?.bio == "kept" && device.client.me?.fullName == "Alice Moreau")
            }
        }
    }

    @Test(
        "a refused change keeps its error, blocks nothing, and can be retried or discarded",
        .covers("D31"))
    func refusals() async throws {
        try await withDevice { _, _, device in
            try await device.signIn(.alice)
            let chat = try await device.client.loadedChat(with: .aliceBob)
            // The server takes 4 KiB.
            let data: [String: JSONValue] = ["text": .string(String(repeating: "x", count: 5_000))]
            try await chat.send("refused", details: MessageDetails(data: data))
            try await chat.send("after it")
            try await device.waitUntil("the refusal, and the next") { client in
                client.refusedChanges.count == 1
                    && chat.messages.contains { $0.content == "after it" && $0.delivery == .sent }
            }
            let refused = try #require(device.client.refusedChanges.first)
            #expect(refused.kind == .message)
            #expect(refused.error.code == .invalidParams)
            #expect(refused.error.field == "data")
            #expect(chat.messages.last?.delivery == .refused(refused.error, change: refused.id))
            try await device.client.retryChange(refused.id)
            try await device.waitUntil("the second refusal") {
                $0.refusedChanges.map(\.id) == [refused.id]
            }
            try await device.client.discardChange(refused.id)
            #expect(device.client.refusedChanges.isEmpty)
            #expect(chat.messages.last?.content == "after it")

            try await device.client.updateProfile { $0.website = "no address" }
            try await device.waitUntil("the refusal") { $0.refusedChanges.first?.error.field == "website" }
            // A refused value is not shown as current.
            #expect(device.client.me?.website != "no address")
            try await device.client.updateProfile { $0.bio = "A bio." }
            try await device.waitUntil("the next edit") { $0.me?.bio == "A bio." }
        }
    }

    @Test(
        "offline and remote profile edits merge field by field",
        .covers("D18"))
    func profileMerge() async throws {
        try await TestDatabase.with { database in
            let node = try await ServeProcess.start(database, port: try await unusedPort())
            try await AppDevice.with(.node(node.port)) { device in
                try await device.signIn(.alice)
                try await node.kill()
                try await device.client.updateProfile {
                    $0.bio = "From the train."
                    $0.preferences["theme"] = "dark"
                }
                try await database.psql(
                    """
                    update user_profiles set location = 'Graz', full_name = 'Alice Elsewhere'
                    where id = '\(Person.alice.id)'
                    """)
                let again = try await ServeProcess.start(database, port: node.port)
                defer { again.command.signal(SIGKILL) }
                device.client.networkChanged()
                try await device.waitUntil("both edits") { client in
                    client.me?.bio == "From the train." && client.me?.location == "Graz"
                        && client.me?.fullName == "Alice Elsewhere" && client.me?.preferences["theme"] == "dark"
                        && client.state == .live
                }
                try await eventually("the database to have it") {
                    try await database.value(
                        "select bio || location from user_profiles where id = '\(Person.alice.id)'")
                        == "From the train.Graz"
                }
            }
        }
    }

    @Test("queued messages arrive once in order while nodes are killed")
    func kills() async throws {
        try await TestDatabase.with { database in
            var node = try await ServeProcess.start(database)
            let port = node.port
            try await AppDevice.with(.node(port)) { device in
                try await device.signIn(.alice)
                let chat = try await device.client.loadedChat(with: .aliceBob)
                var written: [String] = []
                for round in 0..<5 {
                    for number in 0..<20 {
                        written.append("round \(round) number \(number)")
                        try await chat.send(written[written.count - 1])
                    }
                    // A kill in the middle of the sends.
                    try await node.kill()
                    node = try await ServeProcess.start(database, port: port)
                    device.client.networkChanged()
                }
                try await device.waitUntil("an empty outbox") { _ in chat.messages.allSatisfy { $0.delivery == .sent }
                }
                #expect(
                    try await database.column(
                        """
                        select content from messages where conversation_id = '\(Room.aliceBob)' and content like 'round%'
                        order by seq
                        """) == written)
                #expect(
                    chat.contents.suffix(written.count) == written.map(Optional.some)[...] || chat.messages.count == 50)
            }
            node.command.signal(SIGKILL)
        }
    }

    @Test("a text that the server would refuse is not queued")
    func invalidText() async throws {
        let users = [User(id: "me", fullName: "Robin Ray"), User(id: "you", fullName: "Yuri Young")]
        let client = PostlineClient.preview(
            me: users[0], conversations: [Conversation(id: "c", myID: "me", users: users)],
            messages: [Message(id: "m", conversationID: "c", seq: 1, senderID: "me", content: "Hi", isMine: true)])
        let chat = try await client.loadedChat(with: "c")
        let message = try #require(chat.messages.first)
        func field(_ body: @MainActor () async throws -> Void) async -> String? {
            do {
                try await body()
                return nil
            } catch {
                return (error as? PostlineError)?.code == .invalidParams ? (error as? PostlineError)?.field : "\(error)"
            }
        }
        for text in ["", String(repeating: "🎈", count: 8_001)] {
            #expect(await field { try await chat.send(text) } == "content")
            #expect(await field { try await client.edit(message, to: text) } == "content")
        }
        #expect(client.pendingChangeCount == 0)
        #expect(await field { try await chat.send(String(repeating: "🎈", count: 8_000)) } == nil)
        #expect(await field { try await chat.send("", details: MessageDetails(data: [:], isCustom: true)) } == nil)
        #expect(client.pendingChangeCount == 2)
    }

    @Test("a message over the line limit is refused locally")
    func tooLong() async throws {
        try await withDevice { _, _, device in
            try await device.signIn(.alice)
            let chat = try await device.client.loadedChat(with: .aliceBob)
            for length in [70_000, 1_200_000] {
                let data: [String: JSONValue] = ["text": .string(String(repeating: "x", count: length))]
                try await chat.send("long", details: MessageDetails(data: data))
            }
            try await chat.send("behind it")
            try await device.waitUntil("the refusals, and the next") { client in
                client.refusedChanges.map(\.error.code) == [.lineTooLong, .lineTooLong]
                    && chat.messages.contains { $0.content == "behind it" && $0.delivery == .sent }
            }
            await #expect {
                try await device.client.searchProfiles(String(repeating: "y", count: 70_000))
            } throws: { error in
                (error as? PostlineError)?.code == .lineTooLong
            }
            #expect(device.client.state == .live)
        }
    }

    @Test("discards a queued change without blocking the next")
    func givenUp() async throws {
        try await withDevice { database, _, device in
            try await device.signIn(.alice)
            await device.client.disconnect()
            let chat = try await device.client.loadedChat(with: .aliceBob)
            let sent = chat.contents
            try await chat.send("not meant so")
            try await chat.send("meant so")
            guard
                case .queued(let change)? = chat.messages.first(where: { $0.content == "not meant so" })?
                    .delivery
            else {
                Issue.record("\(chat.messages)")
                return
            }
            try await device.client.discardChange(change)
            #expect(chat.contents == sent + ["meant so"])
            try device.client.connect()
            try await device.waitUntil("an empty outbox") { $0.pendingChangeCount == 0 && $0.state == .live }
            #expect(
                try await database.column("select content from messages where content like '%meant so'")
                    == ["meant so"])
        }
    }

    @Test("a draft survives a restart and ends with its message")
    func drafts() async throws {
        try await withDevice { _, _, device in
            try await device.signIn(.alice)
            try await device.client.chat(with: .aliceBob).setDraft("Dear B")
            try await device.relaunch()
            let chat = try await device.client.loadedChat(with: .aliceBob)
            #expect(chat.draft == "Dear B")
            #expect(device.client.conversations.first { $0.id == .aliceBob }?.draft == "Dear B")
            try await chat.send("Dear Bob")
            #expect(chat.draft == "")
        }
    }

    @Test(
        "chooses a built-in avatar, a picture, and none",
        .covers("C20"))
    func avatar() async throws {
        try await withDevice { _, _, device in
            try await device.signIn(.alice)
            let client = device.client
            let builtIn = try #require(try await client.builtInAvatars().last)
            for (picture, shown) in [
                (ProfileEdit.AvatarChoice.builtIn(id: builtIn.id), Avatar.builtIn(id: builtIn.id)),
                (
                    .custom(url: "https://pictures.example.com/a.png"),
                    .custom(url: "https://pictures.example.com/a.png")
                ),
            ] {
                try await client.updateProfile { $0.avatar = picture }
                #expect(client.me?.avatar == shown)
                try await device.waitUntil("the saved edit") { $0.pendingChangeCount == 0 }
                #expect(client.me?.avatar == shown)
                #expect(client.refusedChanges.isEmpty)
            }
            try await client.updateProfile { $0.avatar = nil }
            try await device.waitUntil("the saved edit") { $0.pendingChangeCount == 0 }
            guard case .initials("AM", _)? = client.me?.avatar else {
                Issue.record("\(String(describing: client.me?.avatar))")
                return
            }
        }
    }
}
