import Postline
import Testing

@Suite("Client group events", .timeLimit(.minutes(20)))
struct ClientGroupEventTests {
    @Test("a group event has its author and current profiles")
    func events() async throws {
        try await withAliceAndBob { database, alice, bob in
            let group = try await alice.client.createGroup("Plans", with: [.bob])
            try await alice.client.addMembers([.carol], to: group)
            try await alice.client.renameGroup(group, to: "Old plans")
            try await alice.client.removeMember(.carol, from: group)
            let chat = try await bob.client.loadedChat(with: group)
            try await bob.waitUntil("the events") { _ in chat.messages.count == 3 }
            #expect(chat.messages.map(\.kind) == [.system, .system, .system])
            #expect(chat.messages.allSatisfy { $0.senderID == .alice })
            let events = chat.messages.compactMap(\.event)
            #expect(events.map(\.kind) == [.membersAdded, .renamed, .memberRemoved])
            #expect(events.map(\.userIDs) == [[.carol], [], [.carol]])
            #expect(events.map(\.title) == [nil, "Old plans", nil])
            #expect(events[0].profiles.map(\.displayName) == ["Carol Jensen"])
            try await database.psql(
                "update public.user_profiles set full_name = 'Carol Newname' where id = '\(Person.carol.id)'"
            )
            try await bob.waitUntil("the new name") { _ in
                chat.messages[0].event?.profiles.first?.displayName == "Carol Newname"
            }
            try await bob.client.leaveGroup(group)
            let hers = try await alice.client.loadedChat(with: group)
            try await alice.waitUntil("his departure") { _ in hers.messages.last?.event?.kind == .memberLeft
            }
            #expect(hers.messages.last?.event?.profiles.map(\.id) == [.bob])
        }
    }
}
