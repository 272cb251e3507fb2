import BoundedWait
import LineClient
import NIOCore
import Testing
import WireProtocol

/// Alice with two devices and two contacts, all live on two nodes, in a direct conversation and a group.
///
/// It checks all places that the source documents mean by "everywhere": the database, Alice's devices, and each
/// contact's profile, chat list and open chats with past and new messages. Past messages are those already held: none
/// is fetched again.
struct ProfileScenario: Sendable {
    let alice: TestClient
    let elsewhere: TestClient
    let bob: TestClient
    let carol: TestClient

    /// The group of Alice, Bob and Carol.
    let group: String
    let database: TestDatabase

    var everybody: [TestClient] { [alice, elsewhere, bob, carol] }
    var contacts: [TestClient] { [bob, carol] }

    init(_ one: TestNode, _ other: TestNode) async throws {
        database = one.database
        group = try await database.makeGroup("Circle", [Person.alice.id, Person.bob.id, Person.carol.id])
        alice = try await one.signedIn(.alice)
        elsewhere = try await other.signedIn(.alice)
        bob = try await other.signedIn(.bob)
        carol = try await one.signedIn(.carol)
        for room in [group, Room.aliceBob, Room.aliceCarol] { try await alice.send("before", to: room) }
        for client in everybody { try await client.sync() }
    }

    /// Changes Alice's profile, and expects it on her screens, in the database and with her contacts in the documented
    /// times.
    ///
    /// - Parameter face: The members that the method sets, with null for those that it clears.
    func change(
        _ method: String, to face: JSONObject, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        @Sendable func isShown(_ face: JSONObject, by object: JSON?) -> Bool {
            face.members.allSatisfy { object?[$0.name] == $0.value }
        }
        func set(_ face: JSONObject) async throws {
            let params = face.members.filter { $0.name == "avatar_type" || $0.value != .null }
            let me = try await alice.call(method, JSONObject(params))
            #expect(isShown(face, by: me), sourceLocation: sourceLocation)
        }
        func seen(_ face: JSONObject) async throws {
            try await elsewhere.follow("her own change") { isShown(face, by: $0.me) }
            for client in contacts {
                try await client.follow("her change") { isShown(face, by: $0.profiles[Person.alice.id]) }
            }
        }
        let me = try await alice.call("me.get")
        let before = JSONObject(face.members.map { .init(name: $0.name, value: me[$0.name] ?? .null) })
        try await expectInTime("\(method) \(JSON.object(face).text)", sourceLocation: sourceLocation) { stopwatch in
            // Except for the changes of the first try.
            try await set(before)
            try await seen(before)
            stopwatch.begin()
            try await set(face)
            stopwatch.reached(.ownScreen)
            // Read by another connection, since acknowledged changes must be committed.
            try await eventually("the write of her change") { isShown(face, by: try await stored()) }
            stopwatch.reached(.written)
            try await seen(face)
            stopwatch.reached(.others)
        }
    }

    /// Expects the members in every place where Alice is shown, to others and to herself.
    ///
    /// - Parameter face: Members of a message's `sender`.
    func expectEverywhere(_ face: JSONObject, sourceLocation: SourceLocation = #_sourceLocation) async throws {
        func expect(_ object: JSON?, _ place: String) {
            for member in face.members {
                #expect(
                    object?[member.name] == member.value, "\(member.name), \(place)", sourceLocation: sourceLocation)
            }
        }
        func expectPastMessages(of state: SyncedState, in rooms: [String]) {
            for room in rooms {
                let hers = (state.messages[room] ?? [:]).values.filter {
                    $0["sender_id"]?.stringValue == Person.alice.id
                }
                #expect(!hers.isEmpty, sourceLocation: sourceLocation)
                for message in hers { expect(state.sender(of: message), "in a past message") }
            }
        }
        let stored = try await stored()
        expect(stored, "in the database")
        // Her own screens, at once and after leaving and returning.
        for client in [alice, elsewhere] {
            expect(try await client.call("me.get"), "of me.get")
            try await client.follow("her own change") { $0.me?["version"] == stored["version"] }
            let state = await client.state
            expect(state.me, "of a push to her own device")
            expectPastMessages(of: state, in: [group, Room.aliceBob, Room.aliceCarol])
        }
        for (client, direct) in [(bob, Room.aliceBob), (carol, Room.aliceCarol)] {
            try await client.follow("her profile") { $0.profiles[Person.alice.id]?.asOthersSee == stored.asOthersSee }
            let list = try await client.call("conversations.list")
            #expect(Self.alice(in: list) == stored, "in the chat list", sourceLocation: sourceLocation)
            let got = try await client.call("profiles.get", ["ids": [.string(Person.alice.id)]])
            #expect(Self.alice(in: got) == stored, "of profiles.get", sourceLocation: sourceLocation)
            expectPastMessages(of: await client.state, in: [group, direct])
            for room in [direct, group] {
                let sent = try await alice.send("as she is now", to: room)
                expect(sent["sender"], "in her own message")
                let id = sent["seq"]?.integerValue ?? 0
                try await client.follow("her message") { $0.messages[room]?[id] != nil }
                expect(await client.state.messages[room]?[id]?["sender"], "in a new message's push")
            }
        }
        try await expectOneShape(sourceLocation: sourceLocation)
    }

    /// Expects a single avatar shape in every profile, Me and sender that a client received.
    func expectOneShape(sourceLocation: SourceLocation = #_sourceLocation) async throws {
        for client in everybody {
            for changes in await client.received {
                let senders = changes["messages"]?.arrayValue?.compactMap { $0["sender"] } ?? []
                for object in (changes["profiles"]?.arrayValue ?? []) + senders + [changes["me"]].compactMap({ $0 }) {
                    let names = ["avatar_id", "avatar_url"].filter { object[$0] != .null }
                    let expected: [String: [String]] = ["built_in": ["avatar_id"], "custom": ["avatar_url"]]
                    #expect(
                        names == expected[object["avatar_type"]?.stringValue ?? ""] ?? [], "\(object.text)",
                        sourceLocation: sourceLocation)
                }
            }
        }
    }

    /// Returns Alice's profile from the database.
    func stored() async throws -> JSON {
        let text = try await database.value(
            "select object from app.profile_objects where id = '\(Person.alice.id)'")
        return try JSON(parsing: ByteBuffer(string: text ?? ""))
    }

    /// Expects all clients to equal the database after all pushes.
    func expectConverged(sourceLocation: SourceLocation = #_sourceLocation) async throws {
        let stored = try await stored()
        for client in [alice, elsewhere] {
            try await client.follow("the last state") { $0.me?["version"] == stored["version"] }
        }
        for client in contacts {
            try await client.follow("the last state") {
                $0.profiles[Person.alice.id]?.asOthersSee == stored.asOthersSee
            }
        }
        for client in [alice, elsewhere] {
            let me = await client.state.me
            for name in Shape.profile { #expect(me?[name] == stored[name], "\(name)", sourceLocation: sourceLocation) }
        }
        for client in everybody {
            _ = try await client.pushesUpTo("converged", on: database)
            try await SyncOpenTests.expectEqual(client, database, newest: 5, sourceLocation: sourceLocation)
        }
    }

    private static func alice(in answer: JSON) -> JSON? {
        answer["profiles"]?.arrayValue?.first { $0["id"]?.stringValue == Person.alice.id }
    }
}

extension JSON {
    /// A profile without the members that a private change moves, which is not pushed to contacts.
    fileprivate var asOthersSee: JSON { without("version", "updated_at") }
}

/// The members of an avatar.
extension JSONObject {
    static func builtIn(_ id: String) -> JSONObject {
        ["avatar_type": "built_in", "avatar_id": .string(id), "avatar_url": .null]
    }

    static func custom(_ url: String) -> JSONObject {
        ["avatar_type": "custom", "avatar_id": .null, "avatar_url": .string(url)]
    }

    static let noAvatar: JSONObject = ["avatar_type": .null, "avatar_id": .null, "avatar_url": .null]
}
