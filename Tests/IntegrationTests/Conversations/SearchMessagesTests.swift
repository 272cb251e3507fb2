import LineClient
import TestSupport
import Testing
import WireProtocol

@Suite("messages.search", .timeLimit(.minutes(20)))
struct SearchMessagesTests {
    private func contents(of answer: JSON) -> [String?] {
        (answer["messages"]?.arrayValue ?? []).map { $0["content"]?.stringValue }
    }

    @Test("finds a message as soon as it is sent, by its members only, and not once it is deleted")
    func finds() async throws {
        try await withNode { node in
            let alice = try await node.signedIn(.alice)
            let frank = try await node.signedIn(.frank)
            let room = JSON.string(Room.aliceBob)
            let texts = ["An ibis in Köln", "another IBIS"]
            for text in texts {
                try await alice.call("messages.send", ["conversation_id": room, "content": .string(text)])
            }
            let bob = try await node.signedIn(.bob)
            let answer = try await bob.call("messages.search", ["query": "ibis"])
            expectShape(answer, ["messages", "next", "is_partial"])
            #expect(contents(of: answer) == texts.reversed())
            #expect(answer["next"] == .null && answer["is_partial"] == false)
            let message = try #require(answer["messages"]?[0])
            expectMessage(message)
            #expect(
                try await contents(of: bob.call("messages.search", ["query": "koln ibi", "conversation_id": room]))
                    == [texts[0]])
            #expect(try await contents(of: frank.call("messages.search", ["query": "ibis"])) == [])
            try await frank.refused(.notFound, "messages.search", ["query": "ibis", "conversation_id": room])
            try await alice.call("messages.delete", ["conversation_id": room, "seq": message["seq"] ?? .null])
            #expect(try await contents(of: bob.call("messages.search", ["query": "ibis"])) == [texts[0]])
            try await bob.refused(.invalidParams, "messages.search", ["query": "i"])
            try await bob.refused(.invalidParams, "messages.search", ["query": "ibis", "before": "x"])
        }
    }

    @Test("the node merges new messages into the index")
    func merges() async throws {
        try await withNode { node in
            // It takes the lease for each merge.
            try await node.database.wait(
                for: "select count(*) from app.leases where name = 'message_words'", toBe: "1")
        }
    }

    @Test("pages continue where the last one ended, over one conversation and over all")
    func pages() async throws {
        try await withNode { node in
            try await node.database.psql(
                """
                insert into public.messages (conversation_id, sender_id, content)
                select case when n % 2 = 0 then '\(Room.aliceBob)' else '\(Room.alps)' end::uuid, '\(Person.bob.id)',
                       'heron ' || n
                  from generate_series(1, 25) n
                """)
            let alice = try await node.signedIn(.alice)
            var found: [String?] = []
            var params: JSONObject = ["query": "heron", "limit": 10]
            while true {
                let answer = try await alice.call("messages.search", params)
                found += contents(of: answer)
                guard let next = answer["next"]?.stringValue else { break }
                params = ["query": "heron", "limit": 10, "before": .string(next)]
            }
            #expect(found == (1...25).reversed().map { "heron \($0)" })
        }
    }
}
