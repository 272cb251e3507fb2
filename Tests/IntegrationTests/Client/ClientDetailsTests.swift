import BoundedWait
import Foundation
import GRDB
import Postline
import Testing

/// Replies, mentions, data, pins, reactions, and what a user alone sees of a conversation.
@Suite("Client message details", .timeLimit(.minutes(20)))
@MainActor
struct ClientDetailsTests {
    @Test("a reply with mentions and data is written offline, and arrives as it was shown")
    func reply() async throws {
        try await withAliceAndBob { _, alice, bob in
            let chat = try await alice.client.loadedChat(with: .aliceBob)
            let his = try await bob.client.loadedChat(with: .aliceBob)
            try await his.send("Shall we meet?")
            try await alice.waitUntil("the question") { _ in chat.messages.last?.content == "Shall we meet?" }
            let question = try #require(chat.messages.last)
            await alice.client.disconnect()
            try await chat.send(
                "At noon, Bob",
                details: MessageDetails(replyTo: question, mentions: [.bob], data: ["place": "lake"]))
            try await chat.send("", details: MessageDetails(data: ["poll": ["noon", "one"]], isCustom: true))
            @MainActor func check(_ messages: ArraySlice<Message>) throws {
                let reply = try #require(messages.first)
                #expect(reply.replyTo?.seq == question.seq && reply.replyTo?.content == "Shall we meet?")
                #expect(reply.replyTo?.sender?.id == .bob)
                #expect(reply.mentions == [.bob] && !reply.mentionsEveryone && reply.data == ["place": "lake"])
                let custom = try #require(messages.last)
                #expect(custom.kind == .custom && custom.content == "" && custom.data == ["poll": ["noon", "one"]])
            }
            try check(chat.messages.suffix(2))
            // A message that the server does not have cannot be answered yet.
            await #expect {
                try await chat.send("no", details: MessageDetails(replyTo: chat.messages.last))
            } throws: { ($0 as? PostlineError)?.code == .notSent }
            let events = bob.client.events
            try alice.client.connect()
            try await bob.waitUntil("the messages") { _ in his.messages.last?.kind == .custom }
            try check(his.messages.suffix(2))
            #expect(his.messages.suffix(2).map(\.mentionsMe) == [true, false])
            #expect(his.conversation?.unreadMentions == 1)
            for await event in events {
                guard case .messageReceived(let message) = event else { continue }
                #expect(message.mentionsMe && message.replyTo?.content == "Shall we meet?")
                break
            }
            // An edit of the question changes the quote, also before the server has it.
            await bob.client.disconnect()
            try await bob.client.edit(question, to: "Shall we meet today?")
            #expect(his.messages.suffix(2).first?.replyTo?.content == "Shall we meet today?")
            try bob.client.connect()
            try await alice.waitUntil("the new quote") { _ in
                chat.messages.suffix(2).first?.replyTo?.content == "Shall we meet today?"
            }
            let replies = try await alice.client.replies(to: question)
            #expect(replies.map(\.content) == ["At noon, Bob"] && replies[0].replyTo?.version == 2)
            #expect(try await alice.client.replies(to: question, before: replies[0]).isEmpty)
            try await bob.client.delete(question)
            try await alice.waitUntil("the deletion") { _ in
                chat.messages.suffix(2).first?.replyTo.map { $0.content == nil && $0.version == 3 } == true
            }
            // Read in part, the mention stays; read whole, it is gone.
            try await bob.client.markRead(.aliceBob)
            #expect(his.conversation?.unreadMentions == 0)
            try await bob.waitUntil("an empty outbox") { $0.pendingChangeCount == 0 }
            #expect(his.conversation?.unreadMentions == 0)
        }
    }

    @Test("reactions are shown before they are sent, and taken back if the server refuses them")
    func reactions() async throws {
        try await withAliceAndBob { _, alice, bob in
            let chat = try await alice.client.loadedChat(with: .aliceBob)
            let his = try await bob.client.loadedChat(with: .aliceBob)
            try await chat.send("Good news")
            try await bob.waitUntil("the message") { _ in his.messages.last?.content == "Good news" }
            let message = try #require(his.messages.last)
            try await bob.client.react(to: message, with: "🎉")
            #expect(his.messages.last?.reactions == [Reaction(emoji: "🎉", count: 1, isMine: true)])
            #expect(his.messages.last?.delivery == .sent)
            try await alice.waitUntil("his reaction") { _ in
                chat.messages.last?.reactions == [Reaction(emoji: "🎉", count: 1)]
            }
            await alice.client.disconnect()
            let own = try #require(chat.messages.last)
            try await alice.client.react(to: own, with: "🎉")
            try await alice.client.react(to: own, with: "no emoji")
            #expect(
                chat.messages.last?.reactions == [
                    Reaction(emoji: "🎉", count: 2, isMine: true), Reaction(emoji: "no emoji", count: 1, isMine: true),
                ])
            try alice.client.connect()
            try await alice.waitUntil("the refusal") { $0.pendingChangeCount == 0 && $0.refusedChanges.count == 1 }
            #expect(chat.messages.last?.reactions == [Reaction(emoji: "🎉", count: 2, isMine: true)])
            let refused = try #require(alice.client.refusedChanges.first)
            #expect(refused.kind == .reaction && refused.content == "no emoji" && refused.error.field == "emoji")
            // In the push of her reaction, his own stays.
            try await bob.waitUntil("both") { _ in
                his.messages.last?.reactions == [Reaction(emoji: "🎉", count: 2, isMine: true)]
            }
            let first = try await bob.client.reactions(to: message, limit: 1)
            #expect(first.reactions.map(\.userID) == [.bob] && first.reactions[0].emoji == "🎉")
            #expect(first.next != nil)
            let second = try await bob.client.reactions(to: message, emoji: "🎉", after: first.next)
            #expect(second.reactions.map(\.userID) == [.alice] && second.next == nil)
            try await bob.client.react(to: message, with: "🎉", isSet: false)
            #expect(his.messages.last?.reactions == [Reaction(emoji: "🎉", count: 1)])
            try await alice.waitUntil("its end") { _ in
                chat.messages.last?.reactions == [Reaction(emoji: "🎉", count: 1, isMine: true)]
            }
            try await alice.client.delete(own)
            #expect(chat.messages.last?.reactions == [])
            try await bob.waitUntil("the deletion") { _ in
                his.messages.last?.deletedAt != nil && his.messages.last?.reactions == []
            }
        }
    }

    @Test("a scheduled message is listed and counted on all devices, sent at its time, or removed")
    func scheduled() async throws {
        try await withAliceAndBob { _, alice, bob in
            let id = Conversation.ID.aliceBob
            @MainActor func count() -> Int? { alice.client.conversations.first { $0.id == id }?.scheduledCount }
            let never = try await alice.client.schedule("Never", in: id, at: Date(timeIntervalSinceNow: 2))
            #expect(never.content == "Never" && never.error == nil)
            try await alice.waitUntil("the number") { _ in count() == 1 }
            #expect(try await alice.client.scheduledMessages(in: id) == [never])
            #expect(try await bob.client.scheduledMessages() == [])
            try await alice.client.unschedule(never)
            let details = MessageDetails(data: ["a": 1])
            let later = try await alice.client.schedule(
                "Later", in: id, at: Date(timeIntervalSinceNow: 2), details: details)
            let chat = try await bob.client.loadedChat(with: id)
            try await bob.waitUntil("the message") { _ in chat.messages.last?.content == "Later" }
            #expect(chat.messages.last?.data == ["a": 1])
            try await alice.waitUntil("the number") { _ in count() == 0 }
            let hers = try await alice.client.loadedChat(with: id)
            try await alice.waitUntil("the message") { _ in hers.messages.last?.id == later.id }
            #expect(!chat.messages.contains { $0.content == "Never" })
            await #expect {
                try await alice.client.schedule("x", in: id, at: Date(timeIntervalSinceNow: -1))
            } throws: { error in
                (error as? PostlineError)?.field == "due_at"
            }
        }
    }

    @Test(
        "unread mentions are right after the user has read or written elsewhere and another message followed",
        arguments: [true, false])
    func mentionsReadElsewhere(writes: Bool) async throws {
        try await withAliceAndBob { _, alice, bob in
            try await AppDevice.with(bob.server) { laptop in
                try await laptop.signIn(.bob)
                let (his, hers) = (
                    try await laptop.client.loadedChat(with: .aliceBob),
                    try await alice.client.loadedChat(with: .aliceBob)
                )
                try await laptop.client.markRead(.aliceBob)
                try await hers.send("Bob?", details: MessageDetails(mentions: [.bob]))
                for device in [bob, laptop] {
                    try await device.waitUntil("the mention") {
                        $0.conversations.first { $0.id == .aliceBob }?.unreadMentions == 1
                    }
                }
                await bob.client.disconnect()
                if writes {
                    try await his.send("Yes?")
                } else {
                    try await laptop.client.markRead(.aliceBob)
                }
                try await laptop.waitUntil("an empty outbox") { $0.pendingChangeCount == 0 }
                try await hers.send("Nothing")
                try await alice.waitUntil("an empty outbox") { $0.pendingChangeCount == 0 }
                try bob.client.connect()
                try await bob.waitUntilLive()
                let own = try #require(bob.client.conversations.first { $0.id == .aliceBob })
                #expect(own.lastMessageContent == "Nothing" && own.unreadMentions == 0 && own.unreadCount == 1)
            }
        }
    }

    @Test("pins reach all members, and settings the user's other devices alone")
    func settings() async throws {
        try await withAliceAndBob { _, alice, bob in
            try await AppDevice.with(alice.server) { laptop in
                try await laptop.signIn(.alice)
                let chat = try await alice.client.loadedChat(with: .aliceBob)
                let message = try #require(chat.messages.last)
                let seq = try #require(message.seq)
                await alice.client.disconnect()
                try await alice.client.pin(message)
                try await alice.client.setArchived(true, of: .aliceBob)
                try await alice.client.setPinned(true, of: .aliceBob)
                try await alice.client.setMarkedUnread(true, of: .aliceBob)
                try await alice.relaunch()
                try await alice.waitUntil("an empty outbox") { $0.pendingChangeCount == 0 && $0.state == .live }
                for device in [alice, laptop] {
                    try await device.waitUntil("the settings") {
                        guard let own = $0.conversations.first(where: { $0.id == .aliceBob }) else { return false }
                        return own.pinnedSeqs == [seq] && own.isArchived && own.isPinned && own.isMarkedUnread
                    }
                }
                try await bob.waitUntil("the pin") {
                    $0.conversations.first { $0.id == .aliceBob }?.pinnedSeqs == [seq]
                }
                let his = try await bob.client.loadedChat(with: .aliceBob)
                #expect(his.conversation.map { !$0.isArchived && !$0.isPinned && !$0.isMarkedUnread } == true)
                // A message leaves the archive as it is, and one that mentions the user ends it.
                try await his.send("Hello")
                try await his.send("Alice?", details: MessageDetails(mentions: [.alice]))
                try await laptop.waitUntil("the mention") {
                    guard let own = $0.conversations.first(where: { $0.id == .aliceBob }) else { return false }
                    return !own.isArchived && own.unreadMentions == 1 && own.isMarkedUnread && own.isPinned
                }
                // Reading ends the mark, also if nothing else is unread.
                for _ in 1...2 {
                    try await laptop.client.markRead(.aliceBob)
                    #expect(laptop.client.conversations.first { $0.id == .aliceBob }?.isMarkedUnread == false)
                    try await alice.waitUntil("the end of the mark") {
                        $0.conversations.first { $0.id == .aliceBob }?.isMarkedUnread == false
                    }
                    try await laptop.client.setMarkedUnread(true, of: .aliceBob)
                    try await alice.waitUntil("the mark") {
                        $0.conversations.first { $0.id == .aliceBob }?.isMarkedUnread == true
                    }
                }
                try await bob.client.unpin(try #require(his.messages.first { $0.seq == seq }))
                #expect(his.conversation?.pinnedSeqs == [])
                try await laptop.waitUntil("the end of the pin") {
                    $0.conversations.first { $0.id == .aliceBob }?.pinnedSeqs == []
                }
                // Data of a conversation needs a connection.
                try await bob.client.setData(["color": "blue"], of: .aliceBob)
                #expect(his.conversation?.data == ["color": "blue"])
                try await laptop.waitUntil("the data") {
                    $0.conversations.first { $0.id == .aliceBob }?.data == ["color": "blue"]
                }
            }
        }
    }

    @Test("edits and deletions that wait are shown as such, and a deleted message cannot be changed")
    func waitingChanges() async throws {
        try await withAliceAndBob { _, alice, bob in
            let chat = try await alice.client.loadedChat(with: .aliceBob)
            for text in ["one", "two"] { try await chat.send(text) }
            try await alice.waitUntil("an empty outbox") { $0.pendingChangeCount == 0 }
            await alice.client.disconnect()
            try await alice.client.edit(try #require(chat.messages.dropLast().last), to: "one, edited")
            try await alice.client.delete(try #require(chat.messages.last))
            let edited = try #require(chat.messages.dropLast().last)
            #expect(edited.content == "one, edited" && edited.editedAt != nil)
            let deleted = try #require(chat.messages.last)
            #expect(deleted.content == nil && deleted.deletedAt != nil)
            await #expect {
                try await alice.client.edit(deleted, to: "again")
            } throws: { ($0 as? PostlineError)?.code == .notFound }
            await #expect {
                try await alice.client.react(to: deleted, with: "👍")
            } throws: { ($0 as? PostlineError)?.code == .notFound }
            try await chat.send("three")
            let unsent = try #require(chat.messages.last)
            #expect(unsent.content == "three" && unsent.editedAt == nil)
            try alice.client.connect()
            let his = try await bob.client.loadedChat(with: .aliceBob)
            try await bob.waitUntil("all") { _ in
                his.messages.suffix(3).map(\.content) == ["one, edited", nil, "three"]
            }
            #expect(alice.client.refusedChanges.isEmpty)
        }
    }

    @Test("a refused pin is taken back")
    func refusedPin() async throws {
        try await withAliceAndBob { _, alice, bob in
            let group = try await alice.client.createGroup("Plans", with: [.bob], data: ["color": "red"])
            let chat = try await alice.client.loadedChat(with: group)
            try await chat.send("Read this", details: MessageDetails(mentionsEveryone: true))
            let his = try await bob.client.loadedChat(with: group)
            try await bob.waitUntil("the message") { _ in his.messages.last?.content == "Read this" }
            #expect(his.conversation?.data == ["color": "red"] && his.conversation?.unreadMentions == 1)
            // Else the refusal could come first.
            await bob.client.disconnect()
            try await bob.client.pin(try #require(his.messages.last))
            #expect(his.conversation?.pinnedSeqs == [1])
            try await his.send("All!", details: MessageDetails(mentionsEveryone: true))
            try bob.client.connect()
            try await bob.waitUntil("the refusals") { $0.refusedChanges.map(\.kind) == [.pin, .message] }
            #expect(bob.client.refusedChanges.allSatisfy { $0.error.code == .forbidden })
            #expect(his.conversation?.pinnedSeqs == [])
        }
    }

    @Test("a store of the version before gets the new values with the next sync")
    func migration() async throws {
        try await withAliceAndBob { _, alice, bob in
            let his = try await bob.client.loadedChat(with: .aliceBob)
            let message = try #require(his.messages.last)
            try await bob.client.react(to: message, with: "👍")
            try await bob.client.pin(message)
            try await his.send("Alice?", details: MessageDetails(replyTo: message, mentions: [.alice]))
            try await alice.waitUntil("the mention") {
                $0.conversations.first { $0.id == .aliceBob }?.unreadMentions == 1
            }
            await alice.client.disconnect()
            try await alice.client.send("waiting", in: .aliceBob)
            let file = alice.folder.appending(path: "\(Person.alice.id).sqlite")
            try await DatabaseQueue(path: file.path).write { database in
                for (table, columns) in [
                    "conversation": [
                        "pinned_seqs", "data", "unread_mentions", "is_marked_unread", "is_archived", "is_pinned",
                        "scheduled_count", "unsent_count",
                    ],
                    "message": ["reply_to", "mentions", "mentions_everyone", "data", "more_attachments", "streamed"],
                    "member": ["last_delivered_seq"],
                ] {
                    for column in columns { try database.execute(sql: "alter table \(table) drop column \(column)") }
                }
                try database.execute(
                    sql: "drop table reaction; delete from grdb_migrations where identifier in ('6', '7', '8', '10')")
            }
            // Without a connection the stored data is shown.
            try await alice.relaunch()
            let chat = try await alice.client.loadedChat(with: .aliceBob)
            #expect(chat.messages.suffix(2).map(\.content) == ["Alice?", "waiting"])
            try await alice.waitUntilLive()
            try await alice.waitUntil("an empty outbox") { $0.pendingChangeCount == 0 }
            #expect(chat.messages.suffix(2).first?.replyTo?.seq == message.seq)
            #expect(chat.messages.suffix(2).first?.mentionsMe == true)
            #expect(chat.messages.first { $0.seq == message.seq }?.reactions == [Reaction(emoji: "👍", count: 1)])
            #expect(chat.conversation?.pinnedSeqs.first == message.seq)
        }
    }
}

/// The rules by which a client applies changes, in orders that a real server rarely produces.
@Suite("Client rules for message details")
@MainActor
struct ClientDetailsRulesTests {
    @Test("reactions follow their version, and without own the stored one stays")
    func reactions() async throws {
        try await withChat { server, device, chat in
            func push(_ version: Int, _ counts: String, _ own: String = "") {
                server.push(
                    "changes",
                    #"""
                    {"cursor":"r\#(version)","reactions":[{"conversation_id":"\#(Room.aliceBob)","seq":1,\#
                    "version":\#(version),"counts":\#(counts)\#(own)}]}
                    """#)
            }
            push(5, #"{"👍":2}"#, #","own":["👍"]"#)
            push(4, #"{"👍":9}"#, #","own":[]"#)
            push(6, #"{"👍":3}"#)
            try await device.waitUntil("the third") { _ in
                chat.messages.first?.reactions == [Reaction(emoji: "👍", count: 3, isMine: true)]
            }
            push(6, #"{"👍":3}"#, #","own":[]"#)
            try await device.waitUntil("the same version with own") { _ in
                chat.messages.first?.reactions == [Reaction(emoji: "👍", count: 3)]
            }
            push(7, "{}")
            try await device.waitUntil("none") { _ in chat.messages.first?.reactions == [] }
        }
    }

    @Test("mentions are counted by the newest message, and read with it")
    func mentions() async throws {
        try await withChat { server, device, chat in
            let mention = #","mentions":["\#(Person.alice.id)"],"mentions_everyone":false"#
            server.push(
                "changes",
                #"{"cursor":"m1","messages":[\#(message(3, mention)),\#(message(2, mention))]}"#)
            try await device.waitUntil("both") { _ in chat.conversation?.unreadMentions == 2 }
            // The same again, an older message, and one that mentions nobody.
            server.push(
                "changes",
                #"{"cursor":"m2","messages":[\#(message(3, mention)),\#(message(1, mention)),\#(message(4))]}"#)
            try await device.waitUntil("the last") { _ in chat.messages.last?.seq == 4 }
            #expect(chat.conversation?.unreadMentions == 2)
            func read(_ seq: Int) -> String {
                #"""
                {"cursor":"r\#(seq)","reads":[{"conversation_id":"\#(Room.aliceBob)","user_id":"\#(Person.alice.id)",\#
                "last_read_seq":\#(seq)}]}
                """#
            }
            server.push("changes", read(2))
            try await device.waitUntil("the mark") { _ in chat.conversation?.lastReadSeq == 2 }
            #expect(chat.conversation?.unreadMentions == 2)
            server.push("changes", read(4))
            try await device.waitUntil("the mark") { _ in chat.conversation?.lastReadSeq == 4 }
            #expect(chat.conversation?.unreadMentions == 0)
            // Of before the read mark, it changes nothing.
            let old = ScriptedServer.conversation(#","unread_mentions":2,"is_marked_unread":true,"is_pinned":true"#)
            server.push("changes", #"{"cursor":"c","conversations":[\#(old)]}"#)
            try await device.waitUntil("the conversation") { _ in chat.conversation?.isPinned == true }
            #expect(chat.conversation.map { $0.unreadMentions == 0 && !$0.isMarkedUnread } == true)
        }
    }

    @Test("reading ends the mark as unread with the response, before the server tells of it")
    func markedUnread() async throws {
        try await withChat { server, device, chat in
            let marked = ScriptedServer.conversation(#","is_marked_unread":true"#, lastSeq: 1, lastReadSeq: 1)
            server.push("changes", #"{"cursor":"c","conversations":[\#(marked)]}"#)
            try await device.waitUntil("the mark") { _ in chat.conversation?.isMarkedUnread == true }
            server.answer(
                "messages.mark_read",
                #"{"conversation_id":"\#(Room.aliceBob)","user_id":"\#(Person.alice.id)","last_read_seq":1}"#)
            try await chat.markRead()
            try await device.waitUntil("an empty outbox") { $0.pendingChangeCount == 0 }
            #expect(chat.conversation?.isMarkedUnread == false)
        }
    }

    @Test("a newer version of a quoted message replaces the quote, an older one does not")
    func quotes() async throws {
        try await withChat { server, device, chat in
            func quote(_ version: Int, _ content: String) -> String {
                #","reply_to":{"seq":1,"sender_id":"\#(Person.bob.id)","kind":"text","content":"\#(content)","#
                    + #""version":\#(version)}"#
            }
            // The quote is newer than the stored message, and then older.
            server.push("changes", #"{"cursor":"q","messages":[\#(message(2, quote(3, "third")))]}"#)
            try await device.waitUntil("the quote") { _ in chat.messages.last?.replyTo?.content == "third" }
            server.push("changes", #"{"cursor":"q2","messages":[\#(message(1, version: 4, content: "fourth"))]}"#)
            try await device.waitUntil("the newer quote") { _ in chat.messages.last?.replyTo?.content == "fourth" }
            #expect(chat.messages.last?.replyTo?.sender?.id == .bob)
            server.push("changes", #"{"cursor":"q3","messages":[\#(message(2, quote(3, "third")))]}"#)
            server.push("changes", #"{"cursor":"q4","messages":[\#(message(3))]}"#)
            try await device.waitUntil("the next message") { _ in chat.messages.last?.seq == 3 }
            #expect(chat.messages.dropLast().last?.replyTo?.content == "fourth")
        }
    }

    private func message(
        _ seq: Int, _ members: String = "", version: Int = 1, content: String = "text"
    ) -> String {
        ScriptedServer.message(seq, members, version: version, content: content)
    }

    /// Runs a body with a chat that has one message, number 1.
    private func withChat(
        _ body: @MainActor (ScriptedServer, AppDevice, Chat) async throws -> Void
    ) async throws {
        try await ScriptedServer.with { server in
            try await AppDevice.with(.node(server.port)) { device in
                try await device.signIn(.alice)
                let chat = try await device.client.loadedChat(with: .aliceBob)
                server.push("changes", #"{"cursor":"first","messages":[\#(message(1))]}"#)
                try await device.waitUntil("the first message") { _ in chat.messages.count == 1 }
                try await body(server, device, chat)
            }
        }
    }
}
