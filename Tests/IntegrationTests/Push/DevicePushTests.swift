import BoundedWait
import Crypto
import CryptoExtras
import Foundation
import JWTKit
import LineClient
@testable import Postgres
import TestSupport
import Testing
@testable import WireProtocol

@Suite("Pushes", .timeLimit(.minutes(20)))
struct DevicePushTests {
    @Test(
        "notifies all devices of an offline user in the providers' formats",
        .covers("A30", "C13"))
    func pushes() async throws {
        try await PushSetup.with { setup in
            let node = try await setup.leader()
            defer { node.command.signal(SIGKILL) }
            let bob = try await node.signedIn(.bob)
            let device = try await bob.register(device: "ab01")
            try await bob.register(device: "fcm-token", "fcm")
            try await bob.register(device: "my device", "webhook", locale: "de-AT")
            let alice = try await node.signedIn(.alice)
            try await alice.register(device: "a11ce0")
            let unread = try await unreadOfBob(setup) + 1
            let message = try await alice.send("lunch?", to: Room.aliceBob)
            let seq = try #require(message["seq"]?.integerValue)
            let payload: [String: Any] = [
                "conversation_id": Room.aliceBob, "seq": Int(seq), "sender_id": Person.alice.id,
                "title": "Alice Moreau", "body": "lunch?", "badge": unread,
            ]

            let apns = try await setup.standIn.received(1) { $0.path.hasPrefix("/3/") }[0]
            #expect(apns.path == "/3/device/ab01")
            #expect(apns.headers["apns-topic"] == "com.example.app")
            #expect(apns.headers["apns-push-type"] == "alert")
            #expect(apns.headers["apns-priority"] == "10")
            #expect(apns.headers["apns-collapse-id"] == Room.aliceBob)
            let bearer = try #require(apns.headers["authorization"]?.dropFirst("bearer ".count))
            let keys = await JWTKeyCollection().add(
                ecdsa: try ES256PublicKey(pem: setup.apnsKey.publicKey.pemRepresentation), kid: "KEY4567890")
            let claims = try await keys.verify(String(bearer), as: ProviderClaims.self)
            #expect(claims.iss == "TEAM567890")
            var apnsPayload = try apns.json
            let aps = try #require(apnsPayload.removeValue(forKey: "aps") as? NSDictionary)
            #expect(
                aps == [
                    "alert": ["title": "Alice Moreau", "body": "lunch?"], "badge": unread, "sound": "default",
                    "thread-id": Room.aliceBob, "mutable-content": 1, "content-available": 1,
                ])
            #expect(apnsPayload as NSDictionary == payload as NSDictionary)

            let fcm = try await setup.standIn.received(1) { $0.path.hasPrefix("/v1/") }[0]
            #expect(fcm.path == "/v1/projects/a-project/messages:send")
            #expect(fcm.headers["authorization"] == "Bearer granted")
            let sent = try #require(try fcm.json["message"] as? [String: Any])
            #expect(sent["token"] as? String == "fcm-token")
            #expect(sent["notification"] as? NSDictionary == ["title": "Alice Moreau", "body": "lunch?"])
            #expect(sent["data"] as? NSDictionary == payload.mapValues { "\($0)" } as NSDictionary)
            let grant = try await setup.standIn.received(1) { $0.path == "/token" }[0]
            let assertion = try #require(String(decoding: grant.body, as: UTF8.self).split(separator: "=").last)
            let account = await JWTKeyCollection().add(
                rsa: try Insecure.RSA.PublicKey(pem: setup.fcmKey.publicKey.pemRepresentation), digestAlgorithm: .sha256
            )
            let grantClaims = try await account.verify(String(assertion), as: ServiceAccountClaims.self)
            // F13
            let header = try #require(
                try JSONSerialization.jsonObject(with: Data(base64URL: assertion)) as? [String: Any])
            #expect(header["kid"] as? String == "fcm-key-1")
            #expect(grantClaims.iss == "pusher@a-project.example" && grantClaims.aud == "\(setup.standIn.url)/token")
            #expect(grantClaims.scope == "https://www.googleapis.com/auth/firebase.messaging")

            let hook = try await setup.standIn.received(1) { $0.path == "/hook" }[0]
            let time = try #require(hook.headers["postline-timestamp"])
            var code = HMAC<SHA256>(key: SymmetricKey(data: Data(PushSetup.webhookSecret.utf8)))
            code.update(data: Data("\(time).".utf8))
            code.update(data: hook.body)
            let signature = code.finalize().map { String(format: "%02x", $0) }.joined()
            #expect(hook.headers["postline-signature"] == "v1=\(signature)")
            #expect(try hook.json["type"] as? String == "message")
            #expect((try hook.json["device"] as? [String: Any])?["token"] as? String == "my device")
            #expect((try hook.json["device"] as? [String: Any])?["locale"] as? String == "de-AT")
            #expect(try hook.json["push"] as? NSDictionary == payload as NSDictionary)

            // The next message is pushed too, and not to its sender.
            _ = try await alice.send("or dinner?", to: Room.aliceBob)
            _ = try await setup.standIn.received(2) { $0.path == "/3/device/ab01" }
            #expect(!setup.standIn.requests.contains { $0.path == "/3/device/a11ce0" })
            try await eventually("the outcome to be counted") {
                try await node.metrics()[#"postline_device_notifications_total{outcome="accepted",provider="apns"}"#]
                    == 2
            }

            // Reading on another device removes the notification silently.
            _ = try await bob.call(
                "messages.mark_read", ["conversation_id": .string(Room.aliceBob), "seq": .integer(Int(seq) + 1)])
            let back = try await setup.standIn.received(3) { $0.path == "/3/device/ab01" }[2]
            #expect(back.headers["apns-priority"] == "5")
            let silent = try #require(try back.json["aps"] as? NSDictionary)
            #expect(silent == ["badge": try await unreadOfBob(setup), "content-available": 1])
            #expect(try back.json["read_seq"] as? Int == Int(seq) + 1)

            _ = try await bob.call("devices.remove", ["id": .string(device)])
            let listed = try await bob.call("devices.list")["devices"]?.arrayValue ?? []
            #expect(listed.compactMap { $0["platform"]?.stringValue }.sorted() == ["fcm", "webhook"])
        }
    }

    @Test("notifies the sender of a message of a reaction, if the sender turned that on")
    func reactions() async throws {
        try await PushSetup.with { setup in
            let node = try await setup.leader()
            defer { node.command.signal(SIGKILL) }
            let alice = try await node.signedIn(.alice)
            for (token, platform) in [("a11ce0", "apns"), ("fcm-token", "fcm"), ("her device", "webhook")] {
                try await alice.register(device: token, platform)
            }
            let bob = try await node.signedIn(.bob)
            let message = try await alice.send("lunch?", to: Room.aliceBob)
            func react(_ emoji: String) async throws {
                _ = try await bob.call(
                    "messages.react",
                    [
                        "conversation_id": .string(Room.aliceBob), "seq": try #require(message["seq"]),
                        "emoji": .string(emoji),
                    ])
            }
            try await react("🙈")
            _ = try await alice.call("me.update", ["preferences": ["notify_reactions": true]])
            try await react("🎉")

            let apns = try await setup.standIn.received(1) { $0.path == "/3/device/a11ce0" }[0]
            #expect(apns.headers["apns-collapse-id"] == "\(Room.aliceBob)/reaction")
            let payload = try apns.json
            let aps = try #require(payload["aps"] as? NSDictionary)
            #expect(aps["alert"] as? NSDictionary == ["title": "Bob Okafor", "body": "🎉 to “lunch?”"])
            #expect(payload["type"] as? String == "reaction" && payload["emoji"] as? String == "🎉")
            #expect(payload["sender_id"] as? String == Person.bob.id)

            let fcm = try await setup.standIn.received(1) { $0.path.hasPrefix("/v1/") }[0]
            let sent = try #require(try fcm.json["message"] as? [String: Any])
            #expect(sent["notification"] as? NSDictionary == ["title": "Bob Okafor", "body": "🎉 to “lunch?”"])
            #expect((sent["android"] as? [String: Any])?["collapse_key"] as? String == "\(Room.aliceBob)/reaction")

            let hook = try await setup.standIn.received(1) { $0.path == "/hook" }[0]
            #expect(try hook.json["type"] as? String == "reaction")
            try await eventually("each push to be settled") {
                try await setup.database.value("select count(*) from app.reaction_pushes") == "0"
            }
            #expect(setup.standIn.requests.filter { $0.path == "/3/device/a11ce0" }.count == 1)
        }
    }

    private func unreadOfBob(_ setup: PushSetup) async throws -> Int {
        let sum = try await setup.database.value(
            """
            select sum(c.last_seq - m.last_read_seq) from conversation_members m
            join conversations c on c.id = m.conversation_id where m.user_id = '\(Person.bob.id)'
            """)
        return try #require(sum.flatMap { Int($0) })
    }

    @Test("removes a device on FCM's 400 only for an invalid token")
    func invalidToken() async throws {  // E26
        try await PushSetup.with { setup in
            let node = try await setup.leader()
            defer { node.command.signal(SIGKILL) }
            let bob = try await node.signedIn(.bob)
            try await bob.register(device: "good", "fcm")
            try await bob.register(device: "bad", "fcm")
            setup.answer { request in
                let message = (try? request.json)?["message"] as? [String: Any]
                let field = message?["token"] as? String == "bad" ? "message.token" : "message.android.ttl"
                return .says(
                    400,
                    #"{"error":{"code":400,"status":"INVALID_ARGUMENT","message":"Invalid","details":["#
                        + #"{"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":"INVALID_ARGUMENT"},"#
                        + #"{"fieldViolations":[{"field":"\#(field)","description":"Invalid"}]}]}}"#)
            }
            _ = try await node.signedIn(.alice).send("hello", to: Room.aliceBob)
            try await eventually("the device with the bad token to be removed") {
                try await setup.database.value("select string_agg(token, ' ') from app.devices") == "good"
            }
            try await eventually("the pushes to be settled") {
                try await setup.database.value("select count(*) from app.pushes") == "0"
            }
            #expect(try await setup.database.value("select string_agg(token, ' ') from app.devices") == "good")
        }
    }

    @Test("elects the push leader without a lock that any role can take")
    func lease() async throws {  // A10
        try await PushSetup.with { setup in
            try await setup.database.withConnection { connection in
                _ = try await connection.execute(
                    "set role anon; select pg_advisory_lock(hashtextextended('postline push', 0))")
                let node = try await setup.leader()
                defer { node.command.signal(SIGKILL) }
                try await node.signedIn(.bob).register(device: "b0b0")
                _ = try await node.signedIn(.alice).send("hello", to: Room.aliceBob)
                _ = try await setup.standIn.received(1) { $0.path == "/3/device/b0b0" }
            }
        }
    }

    private struct ProviderClaims: JWTPayload {
        let iss: String
        let iat: Int

        func verify(using algorithm: some JWTAlgorithm) throws {}
    }

    private struct ServiceAccountClaims: JWTPayload {
        let iss: String
        let scope: String
        let aud: String

        func verify(using algorithm: some JWTAlgorithm) throws {}
    }

    @Test("row 66: skips users who are online, have read, muted or signed out")
    func skipped() async throws {
        try await PushSetup.with { setup in
            let node = try await setup.leader()
            defer { node.command.signal(SIGKILL) }
            let alice = try await node.signedIn(.alice)
            let bob = try await node.signedIn(.bob)
            let carol = try await node.signedIn(.carol)
            let frank = try await node.signedIn(.frank)
            try await bob.register(device: "b0b0")
            try await carol.register(device: "ca01")
            /// Checks that a message caused no push: Carol's later push would come after it.
            func causesNoPush(_ what: String, _ before: Int) async throws {
                let sent = setup.standIn.requests.count { $0.path == "/3/device/ca01" }
                _ = try await alice.send("carol, \(what)", to: Room.aliceCarol)
                _ = try await setup.standIn.received(sent + 1) { $0.path == "/3/device/ca01" }
                #expect(setup.standIn.requests.count { $0.path == "/3/device/b0b0" } == before, "\(what)")
            }
            // A muted conversation.
            _ = try await bob.call("conversations.mute", ["conversation_id": .string(Room.aliceBob)])
            _ = try await alice.send("muted", to: Room.aliceBob)
            try await causesNoPush("muted", 0)
            _ = try await bob.call("conversations.mute", ["conversation_id": .string(Room.aliceBob), "until": .null])
            // A message read before the push.
            try await setup.database.withConnection { connection in
                _ = try await connection.execute("begin; lock table app.push_cursor in access exclusive mode")
                let read = try await alice.send("read at once", to: Room.aliceBob)
                _ = try await bob.call(
                    "messages.mark_read", ["conversation_id": .string(Room.aliceBob), "seq": read["seq"] ?? .null])
                _ = try await connection.execute("commit")
            }
            try await causesNoPush("read", 0)
            // An online user.
            try await bob.sync()
            let sessions = "select count(*) from app.node_users where user_id = '\(Person.bob.id)'"
            try await setup.database.wait(for: sessions, toBe: "1")
            _ = try await alice.send("seen", to: Room.aliceBob)
            try await causesNoPush("online", 0)
            // With the app in the background pushes are sent, also of messages sent just before.
            _ = try await bob.call("session.set_state", ["state": "background"])
            try await setup.database.wait(for: sessions, toBe: "0")
            try await setup.database.wait(for: "select count(*) from app.pushes where due_at is not null", toBe: "0")
            let before = setup.standIn.requests.count { $0.path == "/3/device/b0b0" }
            _ = try await alice.send("away", to: Room.aliceBob)
            _ = try await setup.standIn.received(before + 1) { $0.path == "/3/device/b0b0" }
            // The same device, signed in as another user.
            try await frank.register(device: "b0b0")
            _ = try await alice.send("for bob alone", to: Room.aliceBob)
            try await causesNoPush("moved", before + 1)
            #expect(try await bob.call("devices.list")["devices"] == .array([]))
            // A device that is signed out.
            try await bob.register(device: "b0b1")
            _ = try await bob.call("auth.logout")
            _ = try await alice.send("after sign-out", to: Room.aliceBob)
            try await causesNoPush("signed out", before + 1)
            #expect(!setup.standIn.requests.contains { $0.path == "/3/device/b0b1" })
        }
    }

    @Test(
        "row 66: retries deferred pushes and removes unknown devices",
        arguments: [
            (PushStandIn.Answer.says(500, #"{"reason":"InternalServerError"}"#), true),
            (.says(503, #"{"reason":"ServiceUnavailable"}"#, headers: ["retry-after": "3"]), true),
            (.says(429, #"{"reason":"TooManyRequests"}"#), true),
            (.says(403, #"{"reason":"ExpiredProviderToken"}"#), true),
            (.half, true), (.silence, true),
            (.says(410, #"{"reason":"Unregistered","timestamp":1}"#), false),
            (.says(400, #"{"reason":"BadDeviceToken"}"#), false),
        ])
    func answers(_ answer: PushStandIn.Answer, _ isRetried: Bool) async throws {
        try await PushSetup.with { setup in
            let node = try await setup.leader()
            defer { node.command.signal(SIGKILL) }
            let bob = try await node.signedIn(.bob)
            try await bob.register(device: "b0b0")
            setup.answer { [standIn = setup.standIn] _ in
                standIn.requests.count { $0.path == "/3/device/b0b0" } == 1 ? answer : .says(200)
            }
            let alice = try await node.signedIn(.alice)
            _ = try await alice.send("hello", to: Room.aliceBob)
            _ = try await setup.standIn.received(1)
            if isRetried {
                let sent = try await setup.standIn.received(2)
                #expect(sent[0].body == sent[1].body)
                try await eventually("it to be recorded") {
                    try await setup.database.value("select count(*) from app.pushes where due_at is null") == "1"
                }
                #expect(setup.standIn.requests.count == 2)
            } else {
                try await eventually("the device to be removed") {
                    try await bob.call("devices.list")["devices"] == .array([])
                }
            }
        }
    }

    @Test("row 66: fails over to another node and completes begun pushes")
    func takeover() async throws {
        try await PushSetup.with { setup in
            let first = try await setup.leader()
            defer { first.command.signal(SIGKILL) }
            let second = try await setup.node()
            defer { second.command.signal(SIGKILL) }
            let bob = try await second.signedIn(.bob)
            try await bob.register(device: "b0b0")
            let alice = try await second.signedIn(.alice)
            // A kill between the provider's response and its record: only here a push is sent twice.
            setup.answer { _ in
                first.command.signal(SIGKILL)
                return .says(200)
            }
            _ = try await alice.send("one", to: Room.aliceBob)
            _ = try await setup.standIn.received(1)
            setup.answer()
            // Within five seconds (docs/push.md); the limit allows for a busy machine.
            try await within("another node to push", limit: .seconds(30)) { try await PushSetup.leads(second) }
            // The push is due again a minute after it was begun.
            try await setup.database.psql("update app.pushes set due_at = now()")
            let sent = try await setup.standIn.received(2)
            #expect(sent[0].body == sent[1].body)
            try await eventually("it to be recorded") {
                try await setup.database.value("select count(*) from app.pushes where due_at is null") == "1"
            }

            // A stopped process, like a paused machine, keeps its connection.
            let third = try await setup.node()
            defer { third.command.signal(SIGKILL) }
            second.command.signal(SIGSTOP)
            defer { second.command.signal(SIGCONT) }
            try await PushSetup.leads(third)
            let again = try await third.signedIn(.alice)
            _ = try await again.send("two", to: Room.aliceBob)
            _ = try await setup.standIn.received(3)
            second.command.signal(SIGCONT)
            try await eventually("the paused node to follow") {
                try await second.metrics()["postline_device_notification_leader"] == 0
            }
            #expect(setup.standIn.requests.count == 3)
        }
    }

    @Test("doctor checks each provider without notifying anyone")
    func doctor() async throws {
        try await PushSetup.with { setup in
            func findings() async throws -> [String] {
                let doctor = try Command(
                    ["doctor", "--json"],
                    environment: try setup.environment().merging([
                        "POSTLINE_DATABASE_URL": setup.database.url, "POSTLINE_JWT_SECRET": TestNode.secret,
                        "POSTLINE_PORT": "0", "POSTLINE_OPERATIONS_PORT": "off", "POSTLINE_HTTP_PORT": "off",
                    ]) { $1 })
                _ = try await doctor.exit()
                return doctor.output.split(separator: "\n").map(String.init).filter { $0.contains(#""check":"push""#) }
            }
            setup.answer { $0.path.hasPrefix("/3/") ? .says(400, #"{"reason":"BadDeviceToken"}"#) : .says(200, "{}") }
            let good = try await findings()
            #expect(good.count == 3 && good.allSatisfy { $0.contains(#""level":"ok""#) }, "\(good)")
            let hook = try #require(setup.standIn.requests.first { $0.path == "/hook" })
            #expect(try hook.json as NSDictionary == ["type": "check"])
            setup.answer { _ in .says(403, #"{"reason":"InvalidProviderToken"}"#) }
            let bad = try await findings()
            #expect(bad.count { $0.contains(#""level":"problem""#) } == 2, "\(bad)")
            #expect(bad.contains { $0.contains("apns") && $0.contains("InvalidProviderToken") }, "\(bad)")
        }
    }

    // B6
    @Test("the features name push only if a provider is set")
    func feature() async throws {
        try await PushSetup.with { setup in
            for (environment, isNamed) in [(try setup.environment(), true), ([:], false)] {
                let node = try await ServeProcess.start(setup.database, environment: environment)
                defer { node.command.signal(SIGKILL) }
                let client = try await node.connect()
                let features = try #require(try await client.call("server.info")["features"]?.arrayValue)
                #expect(features.contains("push") == isNamed)
            }
        }
    }

    @Test("rejects devices of unconfigured platforms, and syncs mutes")
    func without() async throws {
        try await withTwoNodes { one, other in
            let bob = try await one.signedIn(.bob)
            let second = try await other.signedIn(.bob)
            let alice = try await one.signedIn(.alice)
            _ = try await ServeProcess.with(one.database) { node in
                try await node.signedIn(.bob).refused(
                    .forbidden, "devices.register", ["platform": "apns", "token": "b0b0"])
            }
            for client in [second, alice] { try await client.sync() }
            let answer = try await bob.call(
                "conversations.mute",
                ["conversation_id": .string(Room.aliceBob), "until": "2030-01-02T03:04:05+01:00"])
            #expect(answer["muted_until"] == "2030-01-02T02:04:05.000000Z")
            let push = try await second.nextNotification()
            #expect(push.method == "changes")
            #expect(try push.params()["conversations"] == .array([answer]))
            // The other member receives only the next message, not the mute.
            _ = try await bob.send("hello", to: Room.aliceBob)
            #expect(try await alice.nextNotification().params()["conversations"] == nil)
            try await bob.refused(
                .invalidParams, "conversations.mute",
                ["conversation_id": .string(Room.aliceBob), "until": "2030-02-30T00:00:00Z"], field: "until")
            try await bob.refused(
                .notFound, "conversations.mute", ["conversation_id": .string(Room.aliceCarol)])
        }
    }
}

extension Data {
    /// Decodes the header of a signed token (RFC 7515).
    fileprivate init(base64URL token: some StringProtocol) throws {
        var text = token.prefix { $0 != "." }.replacing("-", with: "+").replacing("_", with: "/")
        text += String(repeating: "=", count: (4 - text.count % 4) % 4)
        self = try #require(Data(base64Encoded: String(text)))
    }
}
