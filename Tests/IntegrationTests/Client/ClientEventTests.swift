import BoundedWait
import Foundation
import TestSupport
import Testing

@testable import Postline

@Suite("Client events")
@MainActor
struct ClientEventTests {
    /// The next event that satisfies a condition, with those before it left out.
    private func next(
        _ events: ClientEvents, _ what: String, where condition: @escaping @Sendable (ClientEvent) -> Bool
    ) async throws -> ClientEvent? {
        try await within(what) {
            for await event in events where condition(event) { return event }
            return nil
        }
    }

    private static func content(_ event: ClientEvent?) -> String? {
        if case .messageReceived(let message)? = event { message.content } else { nil }
    }

    @Test("subscribers each get the messages of others, live and after a return")
    func messages() async throws {
        try await withDevice { database, node, device in
            let all = device.client.events
            try await device.signIn(.alice)
            let bob = try await node.signedIn(.bob)
            let chat = try await device.client.loadedChat(with: .aliceBob)
            let other = try await device.client.loadedChat(with: .aliceCarol)
            let (second, ofChat, ofOther) = (device.client.events, chat.events, other.events)
            try await chat.send("Her own is none")
            try await bob.send("Hello", to: Room.aliceBob)
            for events in [all, second, ofChat] {
                let event = try await next(events, "his message") { $0.conversationID == .aliceBob }
                #expect(Self.content(event) == "Hello")
                guard case .messageReceived(let message)? = event else { return }
                #expect(message.sender?.id == .bob && chat.messages.contains(message))
            }
            await device.client.disconnect()
            try await bob.send("While away", to: Room.aliceBob)
            let carol = try await node.signedIn(.carol)
            try await carol.send("From Carol", to: Room.aliceCarol)
            try device.client.connect()
            let missed = try await next(ofChat, "the missed message") { _ in true }
            #expect(Self.content(missed) == "While away")
            #expect(Self.content(try await next(ofOther, "her message") { _ in true }) == "From Carol")
            // Another device's answer marks the message before it as read.
            let otherDevice = try await node.signedIn(.alice)
            await device.client.disconnect()
            try await bob.send("Answered elsewhere", to: Room.aliceBob)
            try await otherDevice.send("The answer", to: Room.aliceBob)
            try device.client.connect()
            let answered = try await next(ofChat, "the answered message") { _ in true }
            #expect(Self.content(answered) == "Answered elsewhere")
            // An edit is not a new message. A page of older messages brings none.
            try await database.psql(
                "update messages set content = 'Edited' where content = 'Hello'")
            try await chat.jump(toSeq: 1)
            try await bob.send("The last", to: Room.aliceBob)
            #expect(Self.content(try await next(ofChat, "the last message") { _ in true }) == "The last")
        }
    }

    @Test("a message that arrives after a later one is stored is an event, an edit is none")
    func order() async throws {
        let own = ScriptedServer.message(3, from: .alice)
        let page = #"{"messages":[\#(ScriptedServer.message(2)),\#(own)],"has_more":false}"#
        try await ScriptedServer.with(answers: ["messages.send": own, "messages.list": page]) { server in
            try await AppDevice.with(.node(server.port)) { device in
                try await device.signIn(.alice)
                let chat = try await device.client.loadedChat(with: .aliceBob)
                let events = chat.events
                try await chat.send("Later")
                try await device.waitUntil("the response") { _ in chat.messages.contains { $0.seq == 3 } }
                // Message 2 comes first with a page of the list.
                try await chat.loadOlder()
                #expect(chat.messages.map(\.seq).contains(2))
                func push(_ cursor: String, _ messages: String...) {
                    server.push(
                        "changes", #"{"cursor":"\#(cursor)","messages":[\#(messages.joined(separator: ","))]}"#)
                }
                push("1", ScriptedServer.message(1, content: "first"))
                push("2", own, ScriptedServer.message(2, content: "second"))
                push("3", ScriptedServer.message(1, version: 2, content: "edited"))
                push("4", ScriptedServer.message(4, content: "fourth"))
                for content in ["first", "second", "fourth"] {
                    #expect(Self.content(try await next(events, content) { _ in true }) == content)
                }
            }
        }
    }

    @Test("of more than 100 missed messages of a conversation, the older ones are told by their number")
    func limited() async throws {
        try await withDevice { database, node, device in
            try await device.signIn(.alice)
            let bob = try await node.signedIn(.bob)
            let chat = try await device.client.loadedChat(with: .aliceBob)
            let (all, ofChat, ofOther) = (
                device.client.events, chat.events, device.client.chat(with: .aliceCarol).events
            )
            try await bob.send("Before", to: Room.aliceBob)
            for events in [all, ofChat] {
                let event = try await next(events, "the first") { $0.conversationID == .aliceBob }
                #expect(Self.content(event) == "Before")
            }
            await device.client.disconnect()
            try await database.psql(
                """
                insert into messages (conversation_id, sender_id, content)
                select '\(Room.aliceBob)', '\(Person.bob.id)', 'Message ' || n from generate_series(1, 120) n
                """)
            try await node.signedIn(.carol).send("One", to: Room.aliceCarol)
            try device.client.connect()
            for events in [all, ofChat] {
                let missed = try await next(events, "the number") {
                    if case .missed = $0 { true } else { false }
                }
                #expect(missed == .missed(count: 20))
                for number in 21...120 {
                    let event = try await next(events, "message \(number)") { $0.conversationID == .aliceBob }
                    #expect(Self.content(event) == "Message \(number)")
                }
            }
            #expect(Self.content(try await next(ofOther, "her message") { _ in true }) == "One")
        }
    }

    @Test("refused changes and the end of a session are events")
    func refused() async throws {
        try await ScriptedServer.with(answers: ["messages.send": "error:forbidden"]) { server in
            try await AppDevice.with(.node(server.port)) { device in
                let events = device.client.events
                try await device.signIn(.alice)
                let live = try await next(events, "the live state") { $0 == .stateChanged(.live) }
                #expect(live != nil)
                let chat = try await device.client.loadedChat(with: .aliceBob)
                let ofChat = chat.events
                try await chat.send("No")
                for subscription in [events, ofChat] {
                    let event = try await next(subscription, "the refusal") { $0.conversationID == .aliceBob }
                    guard case .changeRefused(let change)? = event else {
                        Issue.record("\(String(describing: event))")
                        return
                    }
                    #expect(change.error.code == .forbidden && device.client.refusedChanges.contains(change))
                }
                for method in ["session.authenticate", "auth.refresh"] {
                    server.answer(method, "error:session_revoked")
                }
                await device.client.disconnect()
                try device.client.connect()
                let end = try await next(events, "the sign-out") {
                    if case .stateChanged(.signedOut) = $0 { true } else { false }
                }
                guard case .stateChanged(.signedOut(let reason))? = end else { return }
                #expect(reason?.code == .sessionRevoked)
            }
        }
    }

    @Test("a slow reader misses the oldest events and is told how many")
    func bound() async throws {
        let buffer = EventBuffer(conversationID: nil)
        let events = ClientEvents(buffer: buffer)
        func event(_ number: Int) -> ClientEvent {
            .stateChanged(.offline(since: Date(timeIntervalSince1970: Double(number))))
        }
        for number in 0..<(ClientEvents.capacity + 10) { buffer.append(event(number)) }
        var iterator = events.makeAsyncIterator()
        #expect(await iterator.next() == .missed(count: 10))
        for number in 10..<(ClientEvents.capacity + 10) { #expect(await iterator.next() == event(number)) }
        // The end comes after the last event.
        buffer.append(event(-1))
        buffer.finish()
        #expect(await iterator.next() == event(-1))
        #expect(await iterator.next() == nil)
    }

    @Test("the sequence ends with the client, and with the reader's task")
    func ended() async throws {
        var client: PostlineClient? = PostlineClient.preview(me: User(id: "robin", fullName: "Robin Ray"))
        let events = try #require(client?.events)
        let reader = Task { for await _ in events {} }
        reader.cancel()
        try await within("the end of the task") { await reader.value }
        let other = try #require(client?.events)
        client = nil
        let rest = try await within("the end of the sequence") {
            await other.reduce(into: 0) { count, _ in count += 1 }
        }
        #expect(rest == 0)
    }
}
