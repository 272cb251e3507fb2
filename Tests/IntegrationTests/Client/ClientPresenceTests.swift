import BoundedWait
import Foundation
import Postline
import TestSupport
import Testing

@Suite("Client presence and push")
@MainActor
struct ClientPresenceTests {
    @Test(
        "contacts see presence and typing, others and offline devices do not",
        .covers("C18"))
    func shown() async throws {
        try await TestDatabase.with { database in
            let node = try await ServeProcess.start(database)
            defer { node.command.signal(SIGKILL) }
            try await AppDevice.with(.node(node.port)) { alice in
                try await AppDevice.with(.node(node.port)) { bob in
                    try await AppDevice.with(.node(node.port)) { stranger in
                        for (device, person) in [(bob, Person.bob), (alice, .alice)] {
                            try await device.signIn(person)
                        }
                        try await stranger.client.signInAsGuest()
                        try await stranger.waitUntilLive()
                        try await bob.waitUntil("Alice's presence") {
                            $0.presence(of: .alice)?.isOnline == true
                        }
                        let chat = try await bob.client.loadedChat(with: .aliceBob)
                        #expect(chat.conversation?.otherUserPresence?.isOnline == true)
                        #expect(
                            try await bob.client.presence(ofUsers: [.alice])[.alice]?.isOnline == true
                        )
                        #expect(stranger.client.presence(of: .alice) == nil)
                        let strange = try await stranger.client.presence(ofUsers: [.alice])
                        #expect(strange[.alice]?.isOnline == false)

                        let own = try await alice.client.loadedChat(with: .aliceBob)
                        // She goes on typing, since a notice ends after six seconds, before a busy machine shows it.
                        var draft = ""
                        try await eventually("her typing") {
                            draft += "x"
                            try await own.setDraft(draft)
                            return chat.typingUsers.map(\.id) == [.alice]
                                && bob.client.typingUserIDs == [.aliceBob: [.alice]]
                        }
                        // While the client is not live, it knows of no typing, nor of the end of this session.
                        await bob.client.disconnect()
                        #expect(bob.client.typingUserIDs.isEmpty && chat.typingUsers.isEmpty)
                        let absent = try #require(bob.client.presence(of: .alice))
                        #expect(!absent.isOnline && absent.lastSeenAt == nil)
                        try bob.client.connect()
                        try await bob.waitUntil("her presence again") {
                            $0.presence(of: .alice)?.isOnline == true
                        }
                        try await own.send("hello")
                        try await bob.waitUntil("her message, and the end of her typing") { _ in
                            chat.messages.last?.content == "hello" && chat.typingUsers.isEmpty
                        }
                        #expect(stranger.client.typingUserIDs.isEmpty)
                        // Typing expires if the user disconnects. A notice too soon after the last one is dropped.
                        try await eventually("her typing once more") {
                            draft += "x"
                            try await own.setDraft(draft)
                            return !chat.typingUsers.isEmpty
                        }
                        await alice.client.disconnect()
                        try await bob.waitUntil("the end of her typing") { _ in chat.typingUsers.isEmpty }
                        try await bob.waitUntil("her absence") {
                            $0.presence(of: .alice)?.isOnline == false
                                && $0.presence(of: .alice)?.lastSeenAt != nil
                        }

                        // A user who hides presence sees no presence.
                        try alice.client.connect()
                        try await alice.waitUntilLive()
                        try await bob.waitUntil("her presence") {
                            $0.presence(of: .alice)?.isOnline == true
                        }
                        try await alice.client.updateProfile { $0.hidesPresence = true }
                        try await bob.waitUntil("her presence to be hidden") {
                            $0.presence(of: .alice).map { !$0.isOnline && $0.lastSeenAt == nil } == true
                        }
                        try await alice.waitUntil("his presence to be hidden") {
                            $0.me?.hidesPresence == true && $0.presence(of: .bob)?.isOnline != true
                        }
                        try await alice.client.updateProfile { $0.hidesPresence = false }
                        try await bob.waitUntil("her presence") {
                            $0.presence(of: .alice)?.isOnline == true
                        }
                        try await node.kill()
                        try await bob.waitUntil("presence to be unknown") {
                            $0.presence(of: .alice)?.isOnline == false
                        }
                        try await bob.relaunch()
                        #expect(bob.client.presence(of: .alice)?.isOnline == false)
                    }
                }
            }
        }
    }

    @Test("a mute syncs to the user's other device and expires")
    func muted() async throws {
        try await TestDatabase.with { database in
            try await ServeProcess.with(database) { node in
                try await AppDevice.with(.node(node.port)) { one in
                    try await AppDevice.with(.node(node.port)) { other in
                        for device in [one, other] { try await device.signIn(.alice) }
                        @MainActor func conversation(_ device: AppDevice) -> Conversation? {
                            device.client.conversations.first { $0.id == .aliceBob }
                        }
                        let until = Date(timeIntervalSince1970: 1_893_456_000)
                        try await one.client.mute(.aliceBob, until: until)
                        #expect(conversation(one)?.mutedUntil == until)
                        try await other.waitUntil("the mute") { _ in conversation(other)?.mutedUntil == until }
                        try await other.relaunch()
                        #expect(conversation(other)?.mutedUntil == until && conversation(other)?.isMuted == true)
                        try await other.waitUntilLive()
                        try await other.client.mute(.aliceBob)
                        try await one.waitUntil("the permanent mute") { _ in
                            guard let muted = conversation(one)?.mutedUntil else { return false }
                            return muted > until
                        }
                        try await other.client.unmute(.aliceBob)
                        try await one.waitUntil("its end") { _ in conversation(one)?.mutedUntil == nil }
                        await #expect {
                            try await one.client.mute("12345678-1234-4234-8234-123456789abc")
                        } throws: { error in
                            (error as? PostlineError)?.code == .notFound
                        }
                    }
                }
            }
        }
    }

    @Test(
        "a push loads its message in the background without going online"
    )
    func pushed() async throws {
        try await PushSetup.with { setup in
            let node = try await setup.leader()
            defer { node.command.signal(SIGKILL) }
            try await pushed(setup, node)
        }
    }

    private func pushed(_ setup: PushSetup, _ node: ServeProcess) async throws {
        try await AppDevice.with(.node(node.port)) { device in
            let client = device.client
            // A registration before the sign-in applies to the next user.
            try await client.registerDevice(.webhook, token: "alice's phone", locale: "en")
            try await device.signIn(.alice)
            try await eventually("the device to be registered") {
                try await setup.database.value("select count(*) from app.devices") == "1"
            }
            await client.enterBackground()
            try await eventually("her to be offline") {
                try await setup.database.value("select count(*) from app.node_users") == "0"
            }
            let bob = try await node.signedIn(.bob)
            try await bob.send("are you there?", to: Room.aliceBob)
            let request = try await setup.standIn.received(1) { $0.path == "/hook" }[0]
            struct Body: Decodable {
                let push: [String: JSONValue]
            }
            let push = try JSONDecoder().decode(Body.self, from: request.body).push
            let payload = try #require(PushPayload(data: try JSONEncoder().encode(push)))
            #expect(payload.kind == .message && payload.conversationID == .aliceBob && payload.senderID == .bob)
            #expect(await client.handle(payload))
            #expect(try await client.loadedChat(with: .aliceBob).messages.last?.content == "are you there?")
            #expect(payload.badge == client.unreadCount)
            #expect(try await setup.database.value("select count(*) from app.node_users") == "0")
            guard case .offline = client.state else {
                Issue.record("it is \(client.state)")
                return
            }
            // The same push again brings nothing new. FCM sends all values as strings.
            #expect(
                await !client.handle(
                    try #require(PushPayload(data: try JSONEncoder().encode(push.mapValues(\.asText))))))
            let other = try await node.signedIn(.alice)
            let seq = client.conversations.first { $0.id == .aliceBob }?.lastSeq ?? 0
            try await other.markRead(Room.aliceBob, upTo: seq)
            let read: [AnyHashable: Any] = ["conversation_id": Room.aliceBob, "read_seq": "\(payload.seq ?? 0)"]
            #expect(await client.handle(try #require(PushPayload(userInfo: read))))
            #expect(client.conversations.first { $0.id == .aliceBob }?.unreadCount == 0)
            await client.enterForeground()
            try await device.waitUntilLive()
            try await client.unregisterDevice()
            #expect(try await setup.database.value("select count(*) from app.devices") == "0")
            // A server without this push service refuses the registration.
            try await client.registerDevice(.webhook, token: "again")
            try await client.signOut()
            #expect(try await setup.database.value("select count(*) from app.devices") == "0")
        }
    }
}

extension JSONValue {
    /// The value as FCM sends it.
    fileprivate var asText: JSONValue {
        if case .integer(let number) = self { .string("\(number)") } else { self }
    }
}
