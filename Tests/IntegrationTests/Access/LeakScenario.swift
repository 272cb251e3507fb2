import Foundations
import LineClient
import NIOCore
import Postgres
import WireProtocol

/// A random scenario on two nodes: users and guests who talk, join and leave groups, and try what they may not.
///
/// After each step all bytes that each of them received are compared with what it may see directly before or after.
struct LeakScenario {
    /// A live connection with its user, or nil if not authenticated.
    struct Observer {
        let client: CapturingClient
        let user: String?
    }

    /// Received data that the user may not see.
    struct Leak: Sendable, CustomStringConvertible {
        let step: String
        let user: String
        let mark: String
        let line: String

        var description: String { "\(mark) reached \(user) by \(line) after \(step)" }
    }

    /// The active users. The observers are theirs first, then a second one of the first user, a stranger and an
    /// unauthenticated one.
    private(set) var users: [String] = []
    private(set) var observers: [Observer] = []
    private(set) var leaks: [Leak] = []

    /// The number of requests that all others listened to.
    private(set) var probes = 0

    /// The number of requests with a result.
    private(set) var done = 0

    /// The number of received marks that were compared.
    private(set) var marksChecked = 0

    private let nodes: [TestNode]
    private let connection: Connection
    private var generator: SeededGenerator
    private var tokens: [String: JSON] = [:]
    private var seen = Visibility()
    private var known: Set<String> = []
    private var cursors: [String: [String]] = [:]

    /// The ids of all scheduled messages, also of those that were sent or removed.
    private var scheduled: [String] = []
    private var fences = 0
    private var stranger = ""

    init(_ one: TestNode, _ other: TestNode, seed: UInt64) async throws {
        nodes = [one, other]
        connection = try await one.database.connect()
        generator = SeededGenerator(state: seed)
        for place in 0..<8 {
            // The last two are a guest and the stranger.
            let isGuest = place == 6
            let client = try await CapturingClient.connect(port: nodes[place % 2].port)
            var params: JSONObject = ["full_name": .string("Person \(mark())")]
            if !isGuest {
                params = JSONObject(
                    params.members + [
                        .init(name: "email", value: .string("\(mark())@example.com")),
                        .init(name: "password", value: .string(TestNode.password)),
                        .init(name: "username", value: .string(mark())),
                    ])
            }
            let answer = try result(of: try await client.call(isGuest ? "auth.guest" : "auth.register", params))
            let user = answer?["user_id"]?.stringValue ?? ""
            tokens[user] = answer
            if place == 7 { stranger = user } else { users.append(user) }
            observers.append(Observer(client: client, user: user))
            try await client.call("me.update", privateData(place))
            try await client.call("sync.open", [:])
        }
        let second = try await CapturingClient.connect(port: other.port)
        try await second.call("session.authenticate", ["access_token": tokens[users[0]]?["access_token"] ?? .null])
        try await second.call("sync.open", [:])
        observers.append(Observer(client: second, user: users[0]))
        observers.append(Observer(client: try await .connect(port: one.port), user: nil))
        try await begin()
        for observer in observers { _ = await observer.client.take() }
        try await Visibility.prepare(on: connection)
        seen = try await Visibility.read(users + [stranger], on: connection)
    }

    /// Creates two groups and two direct conversations for the first steps, and a message in each group that waits for
    /// its time, so that every scenario has one that nobody else may see.
    private mutating func begin() async throws {
        try await connection.execute(
            "insert into app.filter_rules (scope, word, action) values ('messages', 'gamble', 'hold')")
        for members in [0...3, 3...5] {
            let others = users[members].dropFirst().map { JSON.string($0) }
            let client = observers[members.lowerBound].client
            let group = try result(
                of: try await client.call(
                    "conversations.create_group", ["title": .string("Group \(mark())"), "member_ids": .array(others)]))
            try await client.call(
                "messages.schedule",
                [
                    "conversation_id": group?["id"] ?? .null, "content": .string("later \(mark())"),
                    "due_at": .string(Timestamp.after(seconds: 86_400)),
                ])
        }
        for (one, other) in [(0, 6), (1, 2)] {
            try await observers[one].client.call("conversations.open", ["user_id": .string(users[other])])
        }
    }

    func close() async {
        for observer in observers { await observer.client.close() }
        await connection.close()
    }

    /// Runs up to `steps` steps, until one leaks.
    mutating func run(steps: Int) async throws {
        for step in 0..<steps where leaks.isEmpty {
            let (actor, what) = try await act()
            try await fence()
            let now = try await Visibility.read(users + [stranger], on: connection)
            known.formUnion(seen.all)
            known.formUnion(now.all)
            for observer in observers {
                let isActor = observer.client === actor
                for line in await observer.client.take() {
                    try check(line, of: observer.user, now, after: what, isActor)
                }
            }
            if step % 10 == 9 || step == steps - 1 { try await checkPolicies(now, after: what) }
            seen = now
        }
    }
}

extension LeakScenario {
    /// Compares the export of each user with what it may see, which is the same while nobody writes.
    ///
    /// - Returns: The marks that an export lacks, or has beyond that.
    mutating func checkExports() async throws -> [Leak] {
        let now = try await Visibility.read(users + [stranger], on: connection)
        known.formUnion(now.all)
        var differences: [Leak] = []
        for observer in observers.prefix(users.count + 1) {
            guard let user = observer.user else { continue }
            var exported: Set<String> = []
            var position: JSON? = JSON.null
            while let after = position, after != .null || exported.isEmpty {
                let answer = try await observer.client.call(
                    "me.export", after == .null ? [:] : ["after": after])
                exported.formUnion(try Fingerprints.find(in: Array(answer.utf8)))
                position = try result(of: answer)?["next"]
            }
            exported.formIntersection(known)
            let visible = now.visible[user] ?? []
            for mark in visible.symmetricDifference(exported).sorted() {
                let what = visible.contains(mark) ? "the export lacks it" : "the export has it"
                differences.append(Leak(step: "the last step", user: user, mark: mark, line: what))
            }
        }
        return differences
    }

    private mutating func check(
        _ line: [UInt8], of user: String?, _ now: Visibility, after step: String, _ isActor: Bool
    ) throws {
        let text = String(decoding: line, as: UTF8.self)
        let isAnswer = text.hasPrefix(#"{"jsonrpc":"2.0","id":"#)
        if text.contains("internal_error") {
            leaks.append(Leak(step: step, user: user ?? "nobody", mark: "an internal error", line: text))
        }
        for mark in try Fingerprints.find(in: line) where known.contains(mark) || mark.hasPrefix("zq") {
            marksChecked += 1
            if let user, seen.visible[user]?.contains(mark) == true || now.visible[user]?.contains(mark) == true {
                continue
            }
            // Anyone may request a profile.
            if isAnswer, step.hasPrefix("profiles."), isActor, seen.profiles.union(now.profiles).contains(mark) {
                continue
            }
            leaks.append(Leak(step: step, user: user ?? "nobody", mark: mark, line: text))
        }
    }

    /// Checks that the policies return what membership implies. Otherwise the comparison would use a wrong measure.
    private mutating func checkPolicies(_ now: Visibility, after step: String) async throws {
        for user in users + [stranger] {
            let due = try await Visibility.byMembership(of: user, on: connection)
            for mark in now.visible[user, default: []].symmetricDifference(due) {
                leaks.append(Leak(step: step, user: user, mark: mark, line: "the policies"))
            }
            let views = try await Visibility.throughViews(of: user, on: connection)
            for mark in views.given.symmetricDifference(views.due) {
                leaks.append(Leak(step: step, user: user, mark: mark, line: "the views of rest"))
            }
        }
    }

    /// Waits until everything committed before has reached every observer.
    private mutating func fence() async throws {
        fences += 1
        let everybody = (users + [stranger]).map { "'\($0)'" }.joined(separator: ", ")
        try await connection.execute(
            "update public.user_private set preferences = preferences || '{\"fence\":\"\(fences)\"}' where id in (\(everybody))"
        )
        for observer in observers where observer.user != nil {
            try await observer.client.read(to: "\"fence\": \"\(fences)\"", "the fence \(fences)")
        }
        // An unauthenticated client receives nothing, the fence neither. Its own response is the boundary.
        for observer in observers where observer.user == nil { try await observer.client.call("server.info", [:]) }
    }
}

extension LeakScenario {
    private mutating func roll(_ sides: Int) -> Int { generator.next(below: max(1, sides)) }

    private mutating func any<Element>(of elements: [Element]) -> Element? {
        elements.isEmpty ? nil : elements[roll(elements.count)]
    }

    /// Returns a unique text.
    private mutating func mark() -> String {
        let letters = Array("abcdefghijklmnopqrstuvwxyz0123456789")
        return "zq" + String((0..<10).map { _ in letters[roll(letters.count)] })
    }

    private mutating func privateData(_ place: Int) -> JSONObject {
        [
            "bio": .string("I am \(mark())"), "location": .string(mark()),
            "website": .string("https://\(mark()).example.com/"),
            "phone_number": .string("+49151\(String(1_000_000_000 + roll(8_000_000_000)))".prefix(14).description),
            "date_of_birth": .string("19\(10 + place)-0\(1 + roll(9))-\(10 + roll(18))"),
            "preferences": .object([mark(): .string(mark())]),
        ]
    }

    private func result(of line: String) throws -> JSON? { try JSON(parsing: ByteBuffer(string: line))["result"] }

    /// Lets a random observer act, and returns it with its action.
    private mutating func act() async throws -> (CapturingClient, String) {
        let observer = observers[roll(observers.count)]
        guard let user = observer.user else {
            let (method, params) = foreign()
            return try await ask(observer, method, params)
        }
        let mine = seen.rooms.filter { seen.members[$0]?.contains(user) == true }
        // The stranger stays unrelated: it only makes foreign requests.
        let (method, params) = user == stranger || mine.isEmpty && roll(3) > 0 ? foreign() : own(user, mine)
        if method == "psql" {
            // Another program, which sends no notification.
            try? await nodes[0].database.psql(params["sql"]?.stringValue ?? "")
            return (observer.client, "psql \(params["sql"]?.stringValue ?? "")")
        } else if method == "rest" {
            // The same with the rights of an app that uses PostgREST.
            try? await nodes[0].database.psql(as: user, params["sql"]?.stringValue ?? "")
            return (observer.client, "rest \(params["sql"]?.stringValue ?? "") of \(user)")
        }
        return try await ask(observer, method, params)
    }

    private mutating func ask(
        _ observer: Observer, _ method: String, _ params: JSONObject
    ) async throws -> (CapturingClient, String) {
        let answer = try await observer.client.call(method, params)
        probes += 1
        if let result = try result(of: answer) {
            done += 1
            if let cursor = result["cursor"]?.stringValue, let user = observer.user {
                cursors[user, default: []].append(cursor)
            }
            if method == "messages.schedule", let id = result["id"]?.stringValue { scheduled.append(id) }
        }
        return (observer.client, "\(method) \(params.text) of \(observer.user ?? "nobody")")
    }

    /// Returns a request in the user's own conversations.
    private mutating func own(_ user: String, _ mine: [String]) -> (String, JSONObject) {
        let room = JSON.string(any(of: mine) ?? nobody)
        let somebody = JSON.string(any(of: users) ?? nobody)
        let seq = JSON.integer(1 + roll(6))
        switch roll(120) {
        case 100...: return detailed(user, room, somebody, seq)
        case 0..<20:
            return (
                "messages.send",
                ["conversation_id": room, "content": .string("say \(mark())"), "client_id": .string(uuid())]
            )
        case 20..<24:
            // The filter holds it.
            return (
                "messages.send",
                [
                    "conversation_id": room, "content": .string("gamble \(mark())"), "reply_to_seq": 1,
                    "mentions": [somebody], "data": ["held": .string(mark())],
                ]
            )
        case 24..<28:
            return (
                "messages.send",
                [
                    "conversation_id": room, "kind": "image", "content": .string(mark()),
                    "attachment": ["url": .string("https://\(mark()).example.com/a.png"), "mime_type": "image/png"],
                ]
            )
        case 28..<33:
            return ("messages.edit", ["conversation_id": room, "seq": seq, "content": .string("rather \(mark())")])
        case 33..<36: return ("messages.delete", ["conversation_id": room, "seq": seq])
        case 36..<38: return ("messages.mark_read", ["conversation_id": room, "seq": seq])
        case 38..<39: return ("rest", ["sql": .string(throughPostgREST(any(of: seen.rooms) ?? nobody, somebody, user))])
        case 39..<44: return ("conversations.open", ["user_id": somebody])
        case 44..<48:
            return (
                "conversations.create_group",
                ["title": .string("Group \(mark())"), "member_ids": [somebody, .string(any(of: users) ?? nobody)]]
            )
        case 48..<54: return ("conversations.add_members", ["conversation_id": room, "user_ids": [somebody]])
        case 54..<60: return ("conversations.remove_member", ["conversation_id": room, "user_id": somebody])
        case 60..<63:
            return ("conversations.remove_member", ["conversation_id": room, "user_id": .string(user)])
        case 63..<65: return ("conversations.update", ["conversation_id": room, "title": .string("Now \(mark())")])
        case 65..<67:
            return (
                "conversations.set_role",
                ["conversation_id": room, "user_id": somebody, "role": ["owner", "admin", "member"][roll(3)]]
            )
        case 67..<71: return ("me.update", ["full_name": .string("Called \(mark())"), "bio": .string(mark())])
        case 71..<72: return ("me.update", ["preferences": .object([mark(): .string(mark())])])
        case 72..<73: return ("me.change_username", ["username": .string(mark())])
        case 73..<74:
            return (
                "me.set_avatar",
                ["avatar_type": "custom", "avatar_url": .string("https://\(mark()).example.com/me.png")]
            )
        case 74..<79:
            guard let cursor = any(of: cursors[user] ?? []) else { return ("sync.open", [:]) }
            return ("sync.open", ["cursor": .string(cursor)])
        case 79..<81: return ("conversations.list", [:])
        case 81..<82: return ("messages.list", ["conversation_id": room, "limit": 200])
        case 82..<83: return ("messages.search", ["query": ["say", "rather", "zq1"][roll(3)], "limit": 50])
        case 83..<84: return ("me.get", [:])
        case 84..<87:
            return (
                "psql",
                [
                    "sql": .string(
                        "delete from public.conversation_members where conversation_id = '\(room.stringValue ?? "")' and user_id = '\(somebody.stringValue ?? "")'"
                    )
                ]
            )
        case 87..<90:
            return (
                "psql",
                [
                    "sql": .string(
                        "insert into public.messages (conversation_id, sender_id, content) values ('\(room.stringValue ?? "")', '\(user)', 'by hand \(mark())')"
                    )
                ]
            )
        case 90..<92:
            // An operator decides about a held message.
            return (
                "psql",
                [
                    "sql": .string(
                        """
                        select admin.decide_held('me', m.conversation_id::text, m.seq, \(roll(2) == 0))
                          from app.held_messages h
                          join public.messages m on m.id = h.message_id and m.sender_id = h.sender_id
                         order by h.held_at limit 1
                        """)
                ]
            )
        default: return foreign()
        }
    }

    /// Returns a request for what a message has beyond its text.
    private mutating func detailed(
        _ user: String, _ room: JSON, _ somebody: JSON, _ seq: JSON
    ) -> (String, JSONObject) {
        switch roll(14) {
        case 12: return (roll(3) == 0 ? "users.block" : "users.unblock", ["user_id": somebody])
        case 13: return ("users.blocked", [:])
        case 9:
            return (
                "messages.send",
                ["conversation_id": room, "content": .string("growing \(mark())"), "is_streaming": true]
            )
        case 10:
            // In one transaction, which knows how long the message is.
            return (
                "psql",
                [
                    "sql": .string(
                        """
                        select set_config('request.jwt.claims', '{"sub":"\(user)"}', true),
                               app.append_piece(s.conversation_id, s.seq, s.length, ' and \(mark())')
                          from app.message_streams s where s.sender_id = '\(user)' limit 1
                        """)
                ]
            )
        case 11: return ("messages.finish", ["conversation_id": room, "seq": seq])
        case 0:
            return (
                "messages.send",
                [
                    "conversation_id": room, "content": .string("answer \(mark())"), "reply_to_seq": seq,
                    "mentions": [somebody], "data": .object([mark(): .string(mark())]),
                ]
            )
        case 1:
            let files = (0..<2).map { _ in
                JSON.object([
                    "url": .string("https://\(mark()).example.com/a.pdf"), "name": .string("\(mark()).pdf"),
                    "mime_type": "application/pdf",
                ])
            }
            return ("messages.send", ["conversation_id": room, "kind": "file", "attachments": .array(files)])
        case 2, 3: return ("messages.react", ["conversation_id": room, "seq": seq, "emoji": .string(mark())])
        case 4: return ("messages.pin", ["conversation_id": room, "seq": seq])
        case 5: return ("conversations.set", ["conversation_id": room, "is_archived": true])
        case 6:
            return (
                "messages.schedule",
                [
                    "conversation_id": room, "content": .string("later \(mark())"),
                    "data": .object([mark(): .string(mark())]), "due_at": .string(Timestamp.after(seconds: 3_600)),
                ]
            )
        case 7:
            // In one transaction, so that no node sends it at another moment.
            return (
                "psql",
                [
                    "sql": .string(
                        "update public.scheduled_messages set next_try_at = now() where sender_id = '\(user)'; select app.send_due()"
                    )
                ]
            )
        default: return ("sync.ack", ["cursor": .string(any(of: cursors[user] ?? []) ?? "x")])
        }
    }

    /// Returns a statement of an app on any conversation and user.
    private mutating func throughPostgREST(_ room: String, _ somebody: JSON, _ user: String) -> String {
        switch roll(4) {
        case 0: "update rest.messages set is_read = true where conversation_id = '\(room)' returning *"
        case 1: "update rest.messages set is_read = true returning *"
        case 2:
            """
            insert into rest.messages (conversation_id, sender_id, content)
            values ('\(room)', '\(user)', 'from an app \(mark())') returning *
            """
        default:
            """
            insert into rest.conversations (participant1_id, participant2_id)
            values ('\(user)', '\(somebody.stringValue ?? "")') returning *
            """
        }
    }

    /// Returns a request with random ids, mostly of other users.
    private mutating func foreign() -> (String, JSONObject) {
        let room = JSON.string(any(of: seen.rooms) ?? nobody)
        let somebody = JSON.string(any(of: users) ?? nobody)
        let seq = JSON.integer(1 + roll(4))
        switch roll(32) {
        case 22: return ("messages.search", ["query": "say", "conversation_id": room])
        case 23: return ("messages.search", ["query": .string(any(of: known.sorted()) ?? "say")])
        case 24:
            return (
                "reports.create",
                ["conversation_id": room, "seq": seq, "reason": "spam", "comment": .string(mark())]
            )
        case 25:
            return ("reports.create", ["user_id": somebody, "reason": "abuse", "comment": .string(mark())])
        case 26...30: return (roll(2) == 0 ? "reports.list" : "moderation.held", [:])
        case 20:
            return (
                "messages.append",
                ["conversation_id": room, "seq": seq, "start": 0, "content": .string("more \(mark())")]
            )
        case 21: return ("messages.finish", ["conversation_id": room, "seq": seq])
        case 14: return ("messages.react", ["conversation_id": room, "seq": seq, "emoji": .string(mark())])
        case 15: return ("messages.reactions", ["conversation_id": room, "seq": seq])
        case 16: return ("messages.pin", ["conversation_id": room, "seq": seq])
        case 17: return ("messages.scheduled", ["conversation_id": room])
        case 18: return ("messages.unschedule", ["id": .string(any(of: scheduled) ?? nobody)])
        case 19: return ("messages.list", ["conversation_id": room, "reply_to_seq": seq])
        case 0: return ("conversations.get", ["conversation_id": room])
        case 1: return ("messages.list", ["conversation_id": room])
        case 2: return ("messages.list", ["conversation_id": room, "after_seq": 0, "limit": 200])
        case 3: return ("messages.send", ["conversation_id": room, "content": .string("let me in \(mark())")])
        case 4: return ("messages.edit", ["conversation_id": room, "seq": seq, "content": .string(mark())])
        case 5: return ("messages.delete", ["conversation_id": room, "seq": seq])
        case 6: return ("messages.mark_read", ["conversation_id": room, "seq": seq])
        case 7: return ("conversations.update", ["conversation_id": room, "title": .string(mark())])
        case 8: return ("conversations.remove_member", ["conversation_id": room, "user_id": somebody])
        case 9:
            return ("conversations.set_role", ["conversation_id": room, "user_id": somebody, "role": "member"])
        case 10: return ("profiles.get", ["ids": [somebody, .string(nobody)]])
        case 11: return ("profiles.search", ["query": "person zq"])
        case 12: return ("conversations.list", ["before": .string("1.\(room.stringValue ?? "")")])
        default:
            return (
                "sync.open", ["cursor": .string(any(of: (users + [stranger]).flatMap { cursors[$0] ?? [] }) ?? "x")]
            )
        }
    }

    private mutating func uuid() -> String {
        func hex(_ count: Int) -> String { (0..<count).map { _ in String(roll(16), radix: 16) }.joined() }
        return "\(hex(8))-\(hex(4))-4\(hex(3))-8\(hex(3))-\(hex(12))"
    }
}
