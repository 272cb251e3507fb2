@testable import Accounts
import Foundation
import Foundations
@testable import Outbox
import LineClient
import SchemaValidation
import Testing
@testable import WireProtocol

@testable import Messaging

@Suite("OpenAPI document", .timeLimit(.minutes(20)))
struct OpenAPITests {
    private let api: SchemaValidator

    init() throws {
        api = SchemaValidator(try JSON(parsing: OpenAPIDocument.text(version: "test")))
    }

    @Test("documents each member of every method's result")
    func answers() async throws {
        try await PictureFolder.with { folder in try await answers(folder) }
    }

    private func answers(_ folder: PictureFolder) async throws {
        let key = try AppleKey("one")
        var settings = NodeSettings()
        settings.apple = try key.signIn()
        settings.pictures = folder.path
        settings.mail = MailSettings(.folder("\(folder.path)/mails"), from: try #require(MailAddress("a@example.com")))
        try await withNode(settings) { node in
            let calls = ValidatedCalls(api: api)
            try await accounts(node, calls)
            try await mails(node, calls, "\(folder.path)/mails")
            try await calls.call(
                try await node.connect(), "auth.apple", ["identity_token": .string(try key.token("sue"))])
            try await withNode(node.database, NodeSettings(accountProvider: .external)) { try await merge($0, calls) }
            let alice = try await node.signedIn(.alice)
            try await ownData(alice, calls)
            try await conversations(alice, calls)
            try await messages(alice, calls)
            try await sync(alice, node, calls)
            try await reports(alice, node, calls)
            try await farewells(node, calls)
            // Tests/HTTP/test_media_s3.py has a store that takes parts.
            #expect(await calls.methods.union(["media.parts"]) == Set(Operation.all.map(\.method)))
        }
    }

    private func accounts(_ node: TestNode, _ calls: ValidatedCalls) async throws {
        let anybody = try await node.connect()
        try await calls.call(anybody, "server.info")
        try await calls.call(anybody, "avatars.list")
        let tokens = try await calls.call(anybody, "auth.guest", ["full_name": "Gil Guest"])
        try await calls.call(
            try await node.connect(), "session.authenticate", ["access_token": tokens["access_token"] ?? .null])
        try await calls.call(
            anybody, "auth.upgrade", ["email": "gil@new.example.com", "password": "postline-dev"])
        let registered = try await calls.call(
            try await node.connect(), "auth.register",
            [
                "email": "rita@new.example.com", "password": "postline-dev", "username": "rita.r", "full_name": "Rita",
            ])
        try await calls.call(
            try await node.connect(), "auth.refresh", ["refresh_token": registered["refresh_token"] ?? .null])
        let guest = try await node.connect().becomeGuest()
        try await calls.call(
            try await node.connect(), "auth.login",
            [
                "email": "rita@new.example.com", "password": "postline-dev",
                "guest_refresh_token": guest["refresh_token"] ?? .null,
            ])
        try await calls.call(
            try await node.connect(), "auth.login", ["email": "rita@new.example.com", "password": "postline-dev"])
    }

    /// Confirms addresses with the mails in a folder.
    private func mails(_ node: TestNode, _ calls: ValidatedCalls, _ folder: String) async throws {
        func token(_ kind: String) async throws -> JSON {
            try await node.database.wait(for: "select count(*) from app.mails where kind = '\(kind)'", toBe: "0")
            let files = try FileManager.default.contentsOfDirectory(atPath: folder)
            let name = try #require(files.filter { $0.contains(kind) && !$0.hasPrefix(".") }.max())
            let mail = try String(contentsOfFile: "\(folder)/\(name)", encoding: .utf8)
            return .string(String(try #require(mail.firstMatch(of: /[0-9a-f]{64}/)).output))
        }
        let anybody = try await node.connect()
        try await calls.call(anybody, "auth.request_password_reset", ["email": "erin@example.com"])
        try await calls.call(
            anybody, "auth.reset_password",
            ["token": try await token("reset_password"), "password": .string(TestNode.password)])
        try await calls.call(
            anybody, "auth.request_email_change",
            ["email": "erin.e@new.example.com", "password": .string(TestNode.password)])
        try await calls.call(anybody, "auth.confirm_email", ["token": try await token("change_email")])
    }

    /// Merges a guest of an external provider into an account of it.
    private func merge(_ node: TestNode, _ calls: ValidatedCalls) async throws {
        let guest = "11111111-1111-4111-8111-111111111111"
        try await node.database.psql("insert into auth.users (id, is_anonymous) values ('\(guest)', true)")
        var claims = TestToken(sub: guest, session_id: nobody)
        claims.is_anonymous = true
        let client = try await node.connect()
        let token = try await TestToken(sub: Person.frank.id, session_id: nobody).signed()
        try await client.call("session.authenticate", ["access_token": .string(token)])
        try await calls.call(client, "auth.merge_guest", ["guest_access_token": .string(try await claims.signed())])
    }

    private func ownData(_ alice: TestClient, _ calls: ValidatedCalls) async throws {
        try await calls.call(alice, "me.get")
        try await calls.call(alice, "me.export")
        try await calls.call(
            alice, "me.update",
            [
                "bio": "Hello", "website": "https://alice.example.com", "location": .null, "language_code": "pt-BR",
                "phone_number": "+4915112345678", "date_of_birth": "1990-01-01", "preferred_unit_system": "imperial",
                "preferences": ["theme": ["dark": true]],
            ])
        try await calls.call(alice, "me.update_physical", ["biological_sex": "other", "height_cm": 170.5])
        try await calls.call(alice, "me.change_username", ["username": "Alice.Again"])
        try await calls.call(alice, "me.set_avatar", ["avatar_type": .null])
        try await calls.call(
            alice, "me.set_avatar", ["avatar_type": "custom", "avatar_url": "https://alice.example.com/a.png"])
        try await calls.call(
            alice, "me.save",
            [
                "full_name": "Alice A.", "avatar": ["avatar_type": "built_in", "avatar_id": "fox"],
                "physical": ["height_cm": .null],
            ])
        let bob = JSON.string(Person.bob.id)
        try await calls.call(alice, "profiles.get", ["ids": [bob, .string(Person.carol.id), .string(nobody)]])
        try await calls.call(alice, "profiles.get", ["username": "bob"])
        try await calls.call(alice, "profiles.search", ["query": "bob", "limit": 5])
        try await calls.call(alice, "presence.get", ["user_ids": [bob]])
        for method in ["users.block", "users.unblock"] { try await calls.call(alice, method, ["user_id": bob]) }
        try await calls.call(alice, "users.blocked")
        try await calls.call(alice, "session.set_state", ["state": "active"])
        let device = try await calls.call(
            alice, "devices.register",
            ["platform": "apns", "token": "a11ce0", "environment": "sandbox", "locale": "de"])
        try await calls.call(alice, "devices.list", [:])
        try await calls.call(alice, "devices.remove", ["id": device["id"] ?? .null])
    }

    private func conversations(_ alice: TestClient, _ calls: ValidatedCalls) async throws {
        let (bob, frank) = (JSON.string(Person.bob.id), JSON.string(Person.frank.id))
        try await calls.call(alice, "conversations.open", ["user_id": bob])
        try await calls.call(alice, "conversations.open", ["user_id": frank, "profiles": true])
        try await calls.call(alice, "conversations.list", ["limit": 2])
        let group = try await calls.call(alice, "conversations.create_group", ["title": "New", "member_ids": [bob]])
        let id = group["id"] ?? .null
        try await calls.call(alice, "conversations.get", ["conversation_id": id, "profiles": true])
        try await calls.call(alice, "conversations.typing", ["conversation_id": id])
        try await calls.call(alice, "conversations.mute", ["conversation_id": id, "until": "2030-01-01T00:00:00Z"])
        try await calls.call(alice, "conversations.mute", ["conversation_id": id, "until": .null])
        try await calls.call(alice, "conversations.set", ["conversation_id": id, "is_archived": true])
        try await calls.call(
            alice, "conversations.update", ["conversation_id": id, "title": "Newer", "data": ["a": 1]])
        try await calls.call(
            alice, "conversations.add_members", ["conversation_id": id, "user_ids": [frank], "profiles": true])
        try await calls.call(
            alice, "conversations.set_role", ["conversation_id": id, "user_id": bob, "role": "owner"])
        try await calls.call(alice, "conversations.remove_member", ["conversation_id": id, "user_id": frank])
        try await calls.call(
            alice, "conversations.remove_member", ["conversation_id": id, "user_id": .string(Person.alice.id)])
    }

    private func messages(_ alice: TestClient, _ calls: ValidatedCalls) async throws {
        let room = JSON.string(Room.aliceBob)
        let text = try await calls.call(
            alice, "messages.send",
            ["conversation_id": room, "content": "x", "client_id": "12345678-1234-4234-8234-123456789ABC"])
        try await calls.call(
            alice, "messages.send",
            [
                "conversation_id": room, "kind": "image",
                "attachment": ["url": "https://a.example.com/b.png", "mime_type": "image/png", "width": 3],
            ])
        let promised = try await calls.call(
            alice, "media.create",
            ["purpose": "message", "mime_type": "image/png", "bytes": 1_000, "conversation_id": room])
        let url = try #require(promised["upload"]?["url"]?.stringValue)
        #expect(try await PictureAnswer.put(picture(), to: url).status == 204)
        let media = promised["id"] ?? .null
        try await calls.call(
            alice, "messages.send", ["conversation_id": room, "kind": "image", "attachment": ["media_id": media]])
        try await calls.call(alice, "media.urls", ["ids": .array([media])])
        try await calls.call(
            alice, "messages.send",
            [
                "conversation_id": room, "kind": "file",
                "attachments": [
                    ["url": "https://a.example.com/b.pdf", "mime_type": "application/pdf", "name": "b.pdf"],
                    ["url": "https://a.example.com/c.ogg", "duration_ms": 1_500, "waveform": "AAEC"],
                ],
            ])
        let seq = text["seq"] ?? .null
        try await calls.call(alice, "messages.edit", ["conversation_id": room, "seq": seq, "content": "y"])
        let details: JSONObject = [
            "conversation_id": room, "content": "A reply", "reply_to_seq": seq,
            "mentions": [.string(Person.bob.id)], "data": ["a": 1],
        ]
        try await calls.call(alice, "messages.send", details)
        try await calls.call(alice, "messages.react", ["conversation_id": room, "seq": seq, "emoji": "👍"])
        try await calls.call(alice, "messages.reactions", ["conversation_id": room, "seq": seq])
        try await calls.call(alice, "messages.list", ["conversation_id": room, "reply_to_seq": seq])
        try await calls.call(alice, "messages.search", ["query": "reply", "conversation_id": room])
        try await calls.call(alice, "messages.pin", ["conversation_id": room, "seq": seq])
        let growing = try await calls.call(
            alice, "messages.send", ["conversation_id": room, "content": "A", "is_streaming": true])["seq"]
        let target: JSONObject = ["conversation_id": room, "seq": growing ?? .null]
        let piece: JSONObject = ["start": 1, "content": "B"]
        try await calls.call(alice, "messages.append", JSONObject(target.members + piece.members))
        try await calls.call(alice, "messages.list", ["conversation_id": room])
        try await calls.call(alice, "messages.finish", target)
        try await calls.call(alice, "messages.delete", ["conversation_id": room, "seq": seq])
        let scheduled = try await calls.call(
            alice, "messages.schedule",
            ["conversation_id": room, "content": "later", "due_at": .string(Timestamp.after(seconds: 86_400))])
        try await calls.call(alice, "messages.scheduled", ["conversation_id": room])
        try await calls.call(alice, "messages.unschedule", ["id": scheduled["id"] ?? .null])
        try await calls.call(alice, "messages.list", ["conversation_id": room, "limit": 200])
        try await calls.call(alice, "messages.list", ["conversation_id": .string(Room.alps), "after_seq": 0])
        try await calls.call(alice, "messages.mark_read", ["conversation_id": room, "seq": seq])
    }

    /// Reports a message, and moderates as Carol.
    private func reports(_ alice: TestClient, _ node: TestNode, _ calls: ValidatedCalls) async throws {
        try await node.database.psql(
            "update public.user_private set is_moderator = true where id = '\(Person.carol.id)'")
        let carol = try await node.signedIn(.carol)
        let seq = try await node.signedIn(.bob).send("an insult", to: Room.aliceBob)["seq"] ?? .null
        let message: JSONObject = ["conversation_id": .string(Room.aliceBob), "seq": seq]
        let reason: JSONObject = ["reason": "spam", "comment": "See above."]
        let report = try await calls.call(alice, "reports.create", JSONObject(message.members + reason.members))["id"]
        let rudePerson: JSONObject = ["user_id": .string(Person.frank.id)]
        try await calls.call(alice, "reports.create", JSONObject(rudePerson.members + reason.members))
        try await calls.call(carol, "reports.list")
        let id: JSONObject = ["id": report ?? .null]
        try await calls.call(carol, "reports.get", id)
        try await calls.call(carol, "reports.assign", id)
        let outcome: JSONObject = ["outcome": "removed"]
        try await calls.call(carol, "reports.resolve", JSONObject(id.members + outcome.members))
        try await calls.call(carol, "moderation.remove_message", message)
        try await FilterTests.filter("add", "gamble", "--action", "hold", on: node.database)
        for method in ["moderation.release", "moderation.reject"] {
            let held = try await calls.call(
                alice, "messages.send", ["conversation_id": .string(Room.aliceBob), "content": "Let us gamble"])
            try await calls.call(carol, "moderation.held")
            try await calls.call(
                carol, method, ["conversation_id": .string(Room.aliceBob), "seq": held["seq"] ?? .null])
        }
        try await calls.call(carol, "moderation.ban_user", rudePerson)
        try await calls.call(carol, "moderation.unban_user", rudePerson)
    }

    /// Syncs, and validates pushes like results.
    private func sync(_ alice: TestClient, _ node: TestNode, _ calls: ValidatedCalls) async throws {
        try await calls.call(alice, "sync.open", ["messages_per_conversation": 3, "live": false])
        let changes = try #require(api.result(of: "sync.open"))
        for page in try await alice.sync() {
            #expect(api.flaws(of: page, against: changes, closed: true) == [])
        }
        let (bob, carol) = (try await node.signedIn(.bob), try await node.signedIn(.carol))
        try await carol.sync()
        try await bob.send("a push", to: Room.aliceBob)
        try await bob.call("messages.mark_read", ["conversation_id": .string(Room.aliceBob), "seq": 1_000])
        try await bob.call(
            "messages.react", ["conversation_id": .string(Room.alps), "seq": 1, "emoji": "👍"])
        try await bob.call("me.update", ["bio": "pushed"])
        try await bob.call(
            "conversations.remove_member",
            ["conversation_id": .string(Room.alps), "user_id": .string(Person.carol.id)])
        while await !carol.received.contains(where: { $0["left"] != nil }) { try await carol.nextChanges() }
        try await alice.call("me.update", ["bio": "pushed to oneself"])
        try await alice.follow { $0.me?["bio"] == "pushed to oneself" }
        for push in await alice.received + carol.received {
            #expect(api.flaws(of: push, against: changes, closed: true) == [])
        }
        try await calls.call(alice, "sync.ack", ["cursor": try await alice.sync().last?["cursor"] ?? .null])
        try await calls.call(alice, "sync.close")
    }

    private func farewells(_ node: TestNode, _ calls: ValidatedCalls) async throws {
        let dave = try await node.signedIn(.dave)
        try await calls.call(
            dave, "auth.change_password", ["current_password": "postline-dev", "new_password": "postline-dev-2"])
        try await calls.call(dave, "auth.logout", ["all": true])
        let stranger = try await node.stranger()
        try await calls.call(stranger, "me.delete", ["password": .string(TestNode.password)])
    }

    @Test("documents each error's members, and its HTTP status")
    func errors() async throws {
        try await withNode { node in
            let alice = try await node.signedIn(.alice)
            let room = JSON.string(Room.aliceBob)
            let bob = JSON.string(Person.bob.id)
            let client = JSON.string("12345678-1234-4234-8234-123456789abc")
            try await alice.call("messages.send", ["conversation_id": room, "content": "x", "client_id": client])
            try await alice.call("me.change_username", ["username": "alice.again"])
            let refused: [(ErrorCode, String, JSON)] = [
                (.invalidParams, "me.update", ["displayName": "x"]), (.invalidParams, "me.update", ["photoURL": "x"]),
                (.invalidParams, "messages.list", ["limit": 0]), (.versionConflict, "me.save", ["if_version": 1]),
                (.notFound, "conversations.get", ["conversation_id": .string(nobody)]),
                (.notFound, "conversations.open", ["user_id": .string(nobody)]),
                (.notFound, "profiles.get", ["username": "nobody"]),
                (.notFound, "conversations.create_group", ["title": "x", "member_ids": [.string(nobody)]]),
                (.forbidden, "conversations.update", ["conversation_id": room, "title": "x"]),
                (.forbidden, "conversations.add_members", ["conversation_id": room, "user_ids": [bob]]),
                (.forbidden, "conversations.remove_member", ["conversation_id": room, "user_id": bob]),
                (.forbidden, "conversations.set_role", ["conversation_id": room, "user_id": bob, "role": "admin"]),
                (.forbidden, "auth.upgrade", ["email": "a@b.example.com", "password": "postline-dev"]),
                (.usernameCooldown, "me.change_username", ["username": "alice.third"]),
                (.clientIDReused, "messages.send", ["conversation_id": room, "content": "y", "client_id": client]),
                (.invalidCredentials, "me.delete", ["password": "wrong"]),
                (.invalidCredentials, "auth.login", ["email": "alice@example.com", "password": "wrong"]),
                (.invalidToken, "session.authenticate", ["access_token": "x"]),
                (.invalidToken, "auth.refresh", ["refresh_token": "x"]),
            ]
            for (code, method, params) in refused {
                try await expectError(code, try await alice.answerText(method, params), of: method)
            }
            let anybody = try await node.connect()
            try await expectError(.unauthenticated, try await anybody.answerText("me.get", [:]), of: "me.get")
            let taken: JSON = [
                "email": "alice@example.com", "password": "postline-dev", "full_name": "Alice", "username": "al.ice",
            ]
            try await expectError(
                .emailTaken, try await anybody.answerText("auth.register", taken), of: "auth.register")
        }
    }

    @Test("documents the database's rules")
    func databaseRules() async throws {
        try await withNode { node in
            let alice = try await node.signedIn(.alice)
            var covered = 0
            for method in SampleParameters.methods where !method.method.hasPrefix("auth.") {
                for parameter in method.parameters {
                    guard case .string(let rule, validatedBy: .database) = parameter.type else { continue }
                    covered += 1
                    // A time within a year.
                    let samples =
                        parameter.name == "due_at"
                        ? rule.samples.filter { !$0.1 } + [(Timestamp.after(seconds: 60), true)] : rule.samples
                    for (text, isGood) in samples {
                        let params = try Self.params(of: method, with: parameter.name, text)
                        let schema = try #require(api.request(of: method.method))
                        let sample = "\(method.method) \(parameter.name) \(text.prefix(60))"
                        #expect(api.flaws(of: params, against: schema).isEmpty == isGood, "\(sample)")
                        let answer = try JSON(parsing: try await alice.answerText(method.method, params))
                        let refused = answer["error"]?["data"]?["code"] == "invalid_params"
                        #expect(refused == !isGood, "\(sample): \(answer.text.prefix(300))")
                        if !isGood {
                            #expect(answer["error"]?["data"]?["field"] == .string(parameter.name), "\(sample)")
                        }
                    }
                }
            }
            #expect(covered >= 20)
        }
    }

    /// Returns the required parameters and one more.
    private static func params(of method: Messaging.Operation, with name: String, _ text: String) throws -> JSON {
        var members: [JSONObject.Member] = []
        for parameter in method.parameters where parameter.isRequired && parameter.name != name {
            // A URL belongs to one type of avatar, a title to one kind of conversation.
            let value: JSON? =
                switch name {
                case "avatar_url": "custom"
                case "title" where parameter.name == "conversation_id": .string(Room.alps)
                default: SampleParameters.value(of: parameter.name, in: method)
                }
            members.append(.init(name: parameter.name, value: try #require(value)))
        }
        if name == "avatar_type", text == "built_in" { members.append(.init(name: "avatar_id", value: "fox")) }
        if name == "avatar_type", text == "custom" {
            members.append(.init(name: "avatar_url", value: "https://a.example.com/b.png"))
        }
        members.append(.init(name: name, value: .string(text)))
        return .object(JSONObject(members))
    }

    private func expectError(_ code: ErrorCode, _ answer: String, of method: String) async throws {
        let error = try #require(try JSON(parsing: answer)["error"], "\(answer)")
        #expect(error["data"]?["code"] == .string(code.rawValue), "\(method)")
        let schema = try #require(api.element("components", "schemas", "Error"))
        #expect(api.flaws(of: error, against: schema, closed: true) == [], "\(answer)")
        let responses = try #require(api.element("paths", "/v1/\(method)", "post", "responses"))
        #expect(responses["\(code.httpStatus)"] != nil, "\(method) \(code.rawValue)")
    }
}

/// Calls methods, and validates their parameters and results against the schemas.
private actor ValidatedCalls {
    private let api: SchemaValidator
    private(set) var methods: Set<String> = []

    init(api: SchemaValidator) { self.api = api }

    @discardableResult
    func call(_ client: TestClient, _ method: String, _ params: JSONObject = [:]) async throws -> JSON {
        methods.insert(method)
        let request = try #require(api.request(of: method), "\(method)")
        #expect(api.flaws(of: .object(params), against: request) == [], "\(method)")
        let answer = try await client.call(method, params)
        let result = try #require(api.result(of: method), "\(method)")
        #expect(api.flaws(of: answer, against: result, closed: true) == [], "\(method)")
        return answer
    }
}

extension TextRule {
    /// Invalid texts just outside the rule, then valid ones just within it: a username can be changed only once.
    fileprivate var samples: [(text: String, isGood: Bool)] {
        let texts: (bad: [String], good: [String]) =
            switch self {
            case .any: ([], [""])
            case .characters(let limits):
                (
                    [limits.upperBound + 1, limits.lowerBound - 1].filter { $0 >= 0 }.map(Self.text),
                    [limits.upperBound, max(limits.lowerBound, 1)].map(Self.text)
                )
            case .bytes(let limits): ([Self.text(limits.upperBound + 1)], [Self.text(limits.upperBound)])
            case .choice(let choices): (["nonsense", choices[0].uppercased()], choices)
            case .reaction: (["Like", "👍👍"], ["👍🏽", "ship_it"])
            case .email: (["a"], ["a@b.example.com"])
            case .httpsURL(let maxBytes):
                (
                    ["http://a.example.com/", "https://x.example/" + Self.text(maxBytes - 17)],
                    ["https://x.example/" + Self.text(maxBytes - 18), "Https://x.example"]
                )
            case .languageTag: (["the english", "?", ""], ["en", "pt-BR"])
            case .phoneNumber: (["12345678", "+0123456789", "+1 234 567 890"], ["+4915112345678"])
            case .date: (["x", "1990-1-1"], ["1990-01-01"])
            case .timestamp: (["x", "2030-01-01", "1969-12-31T00:00:00Z"], ["2030-01-01T00:00:00Z"])
            case .username: (["ab", "1abc", "a-bc", "a" + Self.text(30)], ["a" + Self.text(28) + "_"])
            }
        return texts.bad.map { ($0, false) } + texts.good.map { ($0, true) }
    }

    private static func text(_ count: Int) -> String { String(repeating: "x", count: count) }
}
