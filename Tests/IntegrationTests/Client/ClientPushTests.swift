import BoundedWait
import Foundation
import TestSupport
import Testing

@testable import Postline

@Suite("Client pushes and device registration")
@MainActor
struct ClientPushTests {
    private static func push(_ member: String, _ number: Int) throws -> PushPayload {
        try #require(PushPayload(userInfo: ["conversation_id": Room.aliceBob, member: number]))
    }

    private static func conversation(lastSeq: Int) -> String {
        ScriptedServer.conversation().replacing("\"last_seq\":0", with: "\"last_seq\":\(lastSeq)")
    }

    @Test("a push during a sync waits for that sync")
    func oneAtATime() async throws {
        try await ScriptedServer.with { server in
            try await AppDevice.with(.node(server.port)) { device in
                try await device.signIn(.alice)
                await device.client.disconnect()
                server.answer("sync.open", "silence")
                try device.client.connect()
                try await device.waitUntil("the catch-up") { _ in server.calls("sync.open").count == 2 }
                #expect(try await !device.client.handle(Self.push("seq", 5), within: .milliseconds(50)))
                #expect(server.calls("sync.open").count == 2)
                // A live client does not fetch.
                server.answer("sync.open", #"{"cursor":"d"}"#)
                await device.client.disconnect()
                try device.client.connect()
                try await device.waitUntilLive()
                #expect(try await !device.client.handle(Self.push("seq", 5), within: .seconds(3_600)))
                #expect(server.calls("sync.open").map { $0["live"] } == [true, true, true])
            }
        }
    }

    @Test("an app launched by a push fetches, and connects in the foreground")
    func launched() async throws {
        try await ScriptedServer.with { server in
            try await AppDevice.with(.node(server.port)) { device in
                try await device.signIn(.alice)
                server.answer(
                    "sync.open", #"{"cursor":"d","conversations":[\#(Self.conversation(lastSeq: 5))]}"#,
                    #"{"cursor":"e"}"#)
                try await device.relaunch(inBackground: true)
                #expect(try await device.client.handle(Self.push("seq", 5)))
                #expect(device.client.unreadCount == 5)
                #expect(server.calls("sync.open").map { $0["live"] } == [true, false])
                guard case .offline = device.client.state else {
                    Issue.record("it is \(device.client.state)")
                    return
                }
                // Two concurrent fetches, one of which is completed by the foreground connection.
                server.answer("sync.open", "silence")
                async let first = device.client.handle(Self.push("seq", 5), within: .seconds(3_600))
                async let second = device.client.handle(Self.push("seq", 6), within: .seconds(3_600))
                try await device.waitUntil("the fetch") { _ in server.calls("sync.open").count == 3 }
                server.answer("sync.open", #"{"cursor":"f","conversations":[\#(Self.conversation(lastSeq: 6))]}"#)
                await device.client.enterForeground()
                try await device.waitUntilLive()
                #expect(try await (first, second) == (false, true))
            }
        }
    }

    @Test("a push applies read marks of other devices, also offline")
    func readElsewhere() async throws {
        try await ScriptedServer.with { server in
            try await AppDevice.with(.node(server.port)) { device in
                try await device.signIn(.alice)
                server.push("changes", #"{"cursor":"d","conversations":[\#(Self.conversation(lastSeq: 5))]}"#)
                try await device.waitUntil("the unread messages") { $0.unreadCount == 5 }
                await device.client.enterBackground()
                server.answer("sync.open", "error:internal_error")
                #expect(try await device.client.handle(Self.push("read_seq", 3)))
                #expect(device.client.unreadCount == 2)
                // A read mark beyond the last message does not hide later messages.
                #expect(try await device.client.handle(Self.push("read_seq", 1 << 40)))
                #expect(device.client.unreadCount == 0)
                server.answer("sync.open", #"{"cursor":"e","conversations":[\#(Self.conversation(lastSeq: 7))]}"#)
                await device.client.enterForeground()
                try await device.waitUntilLive()
                #expect(device.client.unreadCount == 2)
                let other = try #require(PushPayload(userInfo: ["conversation_id": nobody, "seq": 3]))
                #expect(await !device.client.handle(other))
            }
        }
    }

    @Test("keeps the presence of users whose conversation comes with a later page")
    func pagesOfPresence() async throws {
        try await ScriptedServer.with { server in
            try await AppDevice.with(.node(server.port)) { device in
                try await device.signIn(.alice)
                await device.client.disconnect()
                let with = "12345678-1234-4234-8234-123456789abc"
                let theirs = ScriptedServer.conversation().replacing(Room.aliceBob, with: with)
                    .replacing(Person.bob.id, with: Person.carol.id)
                server.answer(
                    "sync.open",
                    """
                    {"cursor":"d","more":true,"conversations":[\(ScriptedServer.conversation())],
                    "presence":[{"user_id":"\(Person.carol.id)","is_online":true,"last_seen_at":null}]}
                    """.replacing("\n", with: ""), #"{"cursor":"e","conversations":[\#(theirs)]}"#)
                try device.client.connect()
                try await device.waitUntil("her presence") {
                    $0.presence(of: .carol)?.isOnline == true
                }
            }
        }
    }

    @Test("registers the newest token and removes earlier registrations")
    func registered() async throws {
        try await ScriptedServer.with(answers: ["devices.register": #"{"id":"1"}"#]) { server in
            try await AppDevice.with(.node(server.port)) { device in
                func tokens() -> [JSONValue?] { server.calls("devices.register").map { $0["token"] } }
                func removed() -> [JSONValue?] { server.calls("devices.remove").map { $0["id"] } }
                // The registration is stored before the sign-in.
                try await device.client.registerDevice(apnsToken: Data([0x00, 0x0f, 0xa0, 0xff]))
                try await device.signIn(.alice)
                try await device.waitUntilRegistered("1")
                #expect(tokens() == ["000fa0ff"])
                server.answer("devices.register", #"{"id":"2"}"#)
                try await device.client.registerDevice(.apns, token: "b")
                #expect(tokens() == ["000fa0ff", "b"] && removed() == ["1"])
                // Without a connection the registration is stored, and sent at the next one.
                await device.client.disconnect()
                server.answer("devices.register", #"{"id":"3"}"#)
                server.answer("devices.remove", "error:not_found", "{}")
                try await device.client.registerDevice(.apns, token: "c")
                try await device.client.registerDevice(.apns, token: "d")
                try device.client.connect()
                try await device.waitUntilRegistered("3")
                #expect(tokens() == ["000fa0ff", "b", "d"] && removed() == ["1", "2"])
                await device.client.disconnect()
                try await device.client.unregisterDevice()
                try await device.relaunch()
                try await device.waitUntilRegistered(nil)
                #expect(tokens().count == 3 && removed() == ["1", "2", "3"])
                // A stored registration is not repeated: a new one would also remove an earlier id.
                try await device.relaunch()
                try await device.waitUntilLive()
                server.answer("devices.register", #"{"id":"4"}"#)
                try await device.client.registerDevice(.apns, token: "e")
                #expect(tokens().last == "e" && removed() == ["1", "2", "3"])
            }
        }
    }

    @Test("retries a failed registration, and drops a refused one")
    func refused() async throws {
        try await ScriptedServer.with(answers: ["devices.register": "error:unavailable"]) { server in
            try await AppDevice.with(.node(server.port)) { device in
                try await device.signIn(.alice)
                server.answer("devices.register", "error:unavailable", "error:rate_limited", #"{"id":"1"}"#)
                try await device.client.registerDevice(.fcm, token: "f")
                try await device.waitUntilRegistered("1")
                #expect(server.calls("devices.register").count >= 3)
                server.answer("devices.register", "error:forbidden")
                await #expect {
                    try await device.client.registerDevice(.webhook, token: "w")
                } throws: { error in
                    (error as? PostlineError)?.code == .forbidden
                }
                let registrations = server.calls("devices.register").count
                try await device.relaunch()
                try await device.waitUntilLive()
                #expect(server.calls("devices.register").count == registrations)
            }
        }
    }

    @Test("a restored draft sends no typing notice, and none is queued")
    func unchangedDraft() async throws {
        try await ScriptedServer.with { server in
            try await AppDevice.with(.node(server.port)) { device in
                try await device.signIn(.alice)
                try await device.client.chat(with: .aliceBob).setDraft("Dear")
                try await device.waitUntil("the typing notice") { _ in !server.calls("conversations.typing").isEmpty }
                // In the background the client does not connect, so this notice cannot be sent at once.
                try await device.relaunch(inBackground: true)
                let chat = try await device.client.loadedChat(with: .aliceBob)
                await device.client.setTyping(true, in: .aliceBob)
                await device.client.enterForeground()
                try await device.waitUntilLive()
                try await chat.setDraft("Dear")
                // A later request proves that no notice was sent before it.
                _ = try await device.client.presence(ofUsers: [.bob])
                #expect(server.calls("conversations.typing").count == 1)
                try await chat.setDraft("Dear Bob")
                try await device.waitUntil("the typing notice") { _ in server.calls("conversations.typing").count == 2 }
            }
        }
    }

    @Test("typing notices are throttled, and a sent message ends them")
    func typingNotices() {
        let start = ContinuousClock.now
        var throttle = TypingThrottle()
        func notices(_ seconds: Double, _ conversationID: Conversation.ID = "c") -> [Bool] {
            throttle.nextNotices(now: start + .seconds(seconds)).due.filter { $0.conversationID == conversationID }.map(
                \.isTyping)
        }
        func setTyping(_ isTyping: Bool, _ seconds: Double, _ conversationID: Conversation.ID = "c") {
            throttle.setTyping(isTyping, in: conversationID, now: start + .seconds(seconds))
        }
        setTyping(false, 0)
        #expect(notices(0) == [])
        var times: [Double] = []
        for time in stride(from: 0, to: 10, by: 0.5) {
            setTyping(true, time)
            times += notices(time).map { _ in time }
        }
        #expect(times == [0, 3, 6, 9])
        // An emptied draft ends the typing as soon as the limit allows.
        setTyping(false, 10)
        #expect(notices(10) == [] && throttle.nextNotices(now: start + .seconds(10)).next == .milliseconds(1_100))
        #expect(notices(11.2) == [false])
        // Typed and emptied before a notice was due: none is sent.
        setTyping(true, 11.5)
        setTyping(false, 12)
        #expect(notices(14) == [] && throttle.nextNotices(now: start + .seconds(14)).next == nil)
        // After a sent message no notice is needed, and the next one keeps the limit.
        setTyping(true, 20)
        #expect(notices(20) == [true])
        throttle.messageSent(in: "c")
        #expect(notices(20.5) == [])
        setTyping(true, 21)
        #expect(notices(21) == [] && notices(22.2) == [true])
        // Each conversation has its own limit.
        setTyping(true, 22.5, "d")
        #expect(notices(22.5, "d") == [true])
    }
}

extension AppDevice {
    /// Waits until the device has stored this id as the last response to `devices.register`, or none if it is nil.
    ///
    /// The server records a call before the device stores the response. A client that ends or registers another device
    /// between the two repeats the call.
    fileprivate func waitUntilRegistered(_ id: String?) async throws {
        let registration = DeviceRegistration(folder: folder)
        try await eventually("the registration \(id ?? "none") in the device's folder") {
            let state = try registration.read()
            return state.id == id && state.formerIDs.isEmpty
        }
    }
}
