import BoundedWait
import LineClient
import Logging
import Metering
@testable import Postgres
import TestSupport
import Testing
import WireProtocol

@Suite("Send batching", .timeLimit(.minutes(20)))
struct SendBatchTests {
    /// The number of concurrent senders, and of messages by each.
    private static let senders = 24
    private static let texts = 12

    /// Creates guests, each with a conversation with Bob.
    private static func guests(_ count: Int, of node: TestNode) async throws -> [(TestClient, String)] {
        var guests: [(TestClient, String)] = []
        for _ in 0..<count {
            let guest = try await node.guest()
            guests.append((guest, try await guest.conversation(with: Person.bob.id)))
        }
        return guests
    }

    /// Returns the number of batches that the node has written, in all and of more than one text or piece.
    private static func batches(of node: TestNode, _ kind: String = "send") throws -> (all: Int, ofMany: Int) {
        func count(_ series: String) throws -> Int {
            let line = node.metrics.text.split(separator: "\n").first { $0.hasPrefix(series) }
            return try #require(line?.split(separator: " ").last.flatMap { Int($0) })
        }
        let all = try count("postline_\(kind)_batch_size_count")
        return (all, all - (try count("postline_\(kind)_batch_size_bucket{le=\"1\"}")))
    }

    @Test("batches concurrent sends, each once, in order and with its own answer")
    func concurrent() async throws {
        try await withNode { node in
            let bob = try await node.signedIn(.bob)
            let guests = try await Self.guests(Self.senders, of: node)
            try await bob.sync()
            try await withThrowingDiscardingTaskGroup { group in
                for (guest, room) in guests {
                    group.addTask {
                        let userID = await guest.userID
                        for number in 1...Self.texts {
                            let message = try await guest.send("\(room) {\(number),\"\\\u{1F600}\"}", to: room)
                            expectMessage(message)
                            #expect(message["seq"]?.integerValue == number)
                            #expect(message["content"] == .string("\(room) {\(number),\"\\\u{1F600}\"}"))
                            #expect(message["sender_id"]?.stringValue == userID)
                            #expect(message["is_read"] == false)
                        }
                    }
                }
            }
            for (_, room) in guests {
                try await bob.follow { $0.has("\(room) {\(Self.texts),\"\\\u{1F600}\"}", in: room) }
                #expect(await bob.state.arrivals[room] == Array(1...Self.texts))
            }
            let batches = try Self.batches(of: node)
            #expect(batches.ofMany > 0)
            #expect(batches.all < Self.senders * Self.texts)
        }
    }

    @Test("batches concurrent pieces, each once and in order")
    func pieces() async throws {
        try await withNode { node in
            let guests = try await Self.guests(Self.senders, of: node)
            let piece = "{\"\\\u{1F600}\"}"
            // 2,400 bytes, too many for a batch.
            let largePiece = String(repeating: "\u{1F600}", count: 600)
            try await withThrowingDiscardingTaskGroup { group in
                for (number, (guest, room)) in guests.enumerated() {
                    group.addTask {
                        let id = JSON.string(room)
                        let sent = try await guest.call(
                            "messages.send", ["conversation_id": id, "content": "", "is_streaming": true])
                        let seq = sent["seq"] ?? .null
                        var text = ""
                        for index in 0..<Self.texts {
                            let content = number == 0 && index == 5 ? largePiece : piece
                            let start = JSON.integer(text.unicodeScalars.count)
                            text += content
                            let answer = try await guest.call(
                                "messages.append",
                                ["conversation_id": id, "seq": seq, "start": start, "content": .string(content)])
                            let length = JSON.integer(text.unicodeScalars.count)
                            #expect(answer == ["conversation_id": id, "seq": seq, "length": length])
                        }
                        let finished = try await guest.call("messages.finish", ["conversation_id": id, "seq": seq])
                        #expect(finished["content"] == .string(text))
                    }
                }
            }
            let batches = try Self.batches(of: node, "piece")
            #expect(batches.ofMany > 0)
            #expect(batches.all < Self.senders * Self.texts)
        }
    }

    @Test("few sends to a locked conversation wait in the database")
    func lockedOut() async throws {
        try await withNode(NodeSettings(poolSize: 4)) { node in
            let carol = try await node.signedIn(.carol)
            let program = try await node.database.connect()
            _ = try await program.execute(
                "begin; select from public.conversations where id = '\(Room.aliceBob)' for update")
            var senders: [TestClient] = []
            for _ in 0..<12 { senders.append(try await node.signedIn(.alice)) }
            try await withThrowingTaskGroup(of: JSON.self) { group in
                for (number, sender) in senders.enumerated() {
                    group.addTask { try await sender.send("late \(number)", to: Room.aliceBob) }
                }
                let waiting = TestDatabase.lockWaiters()
                try await node.database.wait(for: waiting, toBe: "2")
                for number in 1...20 {
                    try await carol.send("meanwhile \(number)", to: Room.aliceCarol)
                    _ = try await carol.call("me.get")
                }
                #expect(try await node.database.value(waiting) == "2")
                _ = try await program.execute("commit")
                var numbers: [Int] = []
                for try await message in group { numbers.append(message["seq"]?.integerValue ?? 0) }
                let first = try #require(numbers.min())
                #expect(numbers.sorted() == Array(first..<first + 12))
            }
            await program.close()
        }
    }

    @Test("a rejected text has its own error and does not fail its batch")
    func rejected() async throws {
        try await withNode { node in
            let guests = try await Self.guests(Self.senders, of: node)
            let known = try await guests[0].0.call(
                "messages.send",
                [
                    "conversation_id": .string(guests[0].1), "content": "once",
                    "client_id": .string("12345678-1234-4234-8234-123456789abc"),
                ])
            try await withThrowingDiscardingTaskGroup { group in
                for (index, (guest, room)) in guests.enumerated() {
                    group.addTask {
                        for number in 1...Self.texts {
                            switch index % 4 {
                            case 0 where index == 0:
                                let again = try await guest.call(
                                    "messages.send",
                                    [
                                        "conversation_id": .string(room), "content": "once",
                                        "client_id": .string("12345678-1234-4234-8234-123456789abc"),
                                    ])
                                #expect(again == known)
                            case 1:
                                try await guest.refused(
                                    .notFound, "messages.send",
                                    ["conversation_id": .string(Room.aliceBob), "content": "\(number)"])
                            default:
                                let message = try await guest.send("\(number)", to: room)
                                #expect(message["seq"]?.integerValue == number)
                            }
                        }
                    }
                }
            }
            let batches = try Self.batches(of: node)
            #expect(batches.ofMany > 0)
            #expect(
                try await node.database.value(
                    "select count(*) from public.messages where conversation_id = '\(guests[0].1)'") == "1")
            #expect(
                try await node.database.value(
                    "select last_seq from public.conversations where id = '\(Room.aliceBob)'") == "90")
        }
    }

    @Test("a locked conversation delays only its own senders")
    func locked() async throws {
        try await withNode(NodeSettings(poolSize: 8)) { node in
            let alice = try await node.signedIn(.alice)
            let guests = try await Self.guests(Self.senders, of: node)
            let program = try await node.database.connect()
            _ = try await program.execute(
                "begin; select from public.conversations where id in ('\(Room.aliceBob)', '\(guests[0].1)') for update")
            async let waits = alice.send("waits", to: Room.aliceBob)
            async let alsoWaits = guests[0].0.send("waits too", to: guests[0].1)
            try await withThrowingDiscardingTaskGroup { group in
                for (guest, room) in guests.dropFirst() {
                    group.addTask { for number in 1...4 { try await guest.send("\(number)", to: room) } }
                }
            }
            #expect(
                try await node.database.value(
                    "select count(*) from public.messages where content like 'waits%'") == "0")
            _ = try await program.execute("rollback")
            await program.close()
            let (waited, alsoWaited) = try await (waits, alsoWaits)
            #expect(waited["seq"] == 91)
            #expect(alsoWaited["seq"] == 1)
        }
    }

    @Test("sends texts individually if PostgreSQL rejects a batch")
    func fallback() async throws {
        try await withNode { node in
            let bob = try await node.signedIn(.bob)
            let guests = try await Self.guests(Self.senders, of: node)
            try await bob.sync()
            try await node.database.psql("revoke execute on function app.send_messages from postline_sender")
            try await withThrowingDiscardingTaskGroup { group in
                for (guest, room) in guests {
                    group.addTask {
                        for number in 1...4 {
                            let message = try await guest.send("\(number)", to: room)
                            #expect(message["seq"]?.integerValue == number)
                        }
                    }
                }
            }
            let batches = try Self.batches(of: node)
            #expect(batches.ofMany > 0)
            for (_, room) in guests {
                try await bob.follow { $0.has("4", in: room) }
                #expect(await bob.state.arrivals[room] == [1, 2, 3, 4])
            }
        }
    }

    @Test("appends pieces individually if PostgreSQL rejects a batch, and logs the reason")
    func pieceFallback() async throws {
        let lines = LoggedLines()
        try await withNode(NodeSettings(logger: Logger(label: "test") { _ in lines })) { node in
            let alice = try await node.signedIn(.alice)
            try await node.database.psql("revoke execute on function app.append_pieces from postline_sender")
            let id = JSON.string(Room.aliceBob)
            let sent = try await alice.call(
                "messages.send", ["conversation_id": id, "content": "a", "is_streaming": true])
            let piece: JSONObject = [
                "conversation_id": id, "seq": sent["seq"] ?? .null, "start": 1, "content": "b",
            ]
            #expect(try await alice.call("messages.append", piece)["length"] == 2)
            let line = try await lines.line("batch of pieces rejected; appending them individually")
            #expect(line.contains("permission denied for function append_pieces"))
        }
    }

    /// Returns a send as a line, or as an element of a batch.
    private static func request(_ id: String, _ content: String, to room: String, clientID: String? = nil) -> String {
        let clientID = clientID.map { #","client_id":"\#($0)""# } ?? ""
        let params = #"{"conversation_id":"\#(room)","content":"\#(content)"\#(clientID)}"#
        return #"{"jsonrpc":"2.0","id":"\#(id)","method":"messages.send","params":\#(params)}"#
    }

    @Test("batches the pipelined sends of a client and keeps their order")
    func pipelined() async throws {
        try await withNode { node in
            let alice = try await node.signedIn(.alice)
            let sends = (1...40).map {
                Self.request("\($0)", "\($0)", to: $0 % 4 == 0 ? Room.aliceCarol : Room.aliceBob)
            }
            try await alice.line.send(line: sends.joined(separator: "\n"))
            var last: [String: Int] = [:]
            for number in 1...40 {
                let answer = try JSON(parsing: await alice.nextLine())
                #expect(answer["id"] == .string("\(number)"))
                let message = answer["result"] ?? .null
                #expect(message["content"] == .string("\(number)"))
                let room = message["conversation_id"]?.stringValue ?? ""
                let seq = message["seq"]?.integerValue ?? 0
                if let before = last[room] { #expect(seq == before + 1) }
                last[room] = seq
            }
            let batches = try Self.batches(of: node)
            #expect(batches.ofMany > 0)
            #expect(batches.all < 40)
        }
    }

    @Test("a pipelined text does not overtake one that waits for a lock")
    func behind() async throws {
        try await withNode { node in
            let alice = try await node.signedIn(.alice)
            let program = try await node.database.connect()
            _ = try await program.execute(
                "begin; select from public.conversations where id = '\(Room.aliceBob)' for update")
            let sends = [
                Self.request("a", "sent at once", to: Room.aliceCarol), Self.request("b", "waits", to: Room.aliceBob),
                Self.request("c", "waits behind", to: Room.aliceCarol),
            ]
            // Line by line it would be as many statements. A JSON-RPC batch is a run, too.
            try await alice.line.send(line: "[\(sends.joined(separator: ","))]")
            try await eventually("the second to wait") {
                try await node.database.value(
                    """
                    select count(*) from pg_stat_activity where datname = current_database() and usename = 'postline' \
                    and wait_event_type = 'Lock' and query like '%send_message(%'
                    """) != "0"
            }
            #expect(
                try await node.database.column(
                    "select content from public.messages where content in ('sent at once', 'waits', 'waits behind')")
                    == ["sent at once"])
            _ = try await program.execute("rollback")
            await program.close()
            let answers = try JSON(parsing: await alice.nextLine()).arrayValue ?? []
            #expect(answers.map { $0["id"] } == ["a", "b", "c"])
            #expect(answers.map { $0["result"]?["content"] } == ["sent at once", "waits", "waits behind"])
        }
    }

    @Test("answers each pipelined request by itself, in order")
    func mixed() async throws {
        try await withNode { node in
            let alice = try await node.signedIn(.alice)
            let clientID = "12345678-1234-4234-8234-123456789abc"
            let room = #""conversation_id":"\#(Room.aliceBob)""#
            let notification = #"{"jsonrpc":"2.0","method":"messages.send","params":{\#(room),"content":"n"}}"#
            let image = #"{\#(room),"kind":"image","attachment":{"url":"https://x.example/a"}}"#
            let lines = [
                Self.request("a", "one", to: Room.aliceBob, clientID: clientID),
                Self.request("b", "one", to: Room.aliceBob, clientID: clientID),
                Self.request("c", "other", to: Room.aliceBob, clientID: clientID),
                Self.request("d", "x", to: Room.bobDave),
                Self.request("e", "", to: Room.aliceBob),
                notification,
                Self.request("f", "two", to: Room.aliceBob),
                #"{"jsonrpc":"2.0","id":"g","method":"messages.send","params":\#(image)}"#,
                Self.request("h", "three", to: Room.aliceBob),
                #"{"jsonrpc":"2.0","id":"i","method":"messages.list","params":{\#(room),"limit":1}}"#,
                "[" + (1...20).map { Self.request("j\($0)", "\($0)", to: Room.aliceBob) }.joined(separator: ",") + "]",
            ]
            try await alice.line.send(line: lines.joined(separator: "\n"))
            func next(_ id: String) async throws -> JSON {
                let answer = try JSON(parsing: await alice.nextLine())
                #expect(answer["id"] == .string(id))
                return answer
            }
            let first = try await next("a")["result"]
            #expect(first?["seq"] == 91)
            #expect(try await next("b")["result"]?["id"] == first?["id"])
            #expect(try await next("c")["error"]?["data"]?["code"] == "client_id_reused")
            #expect(try await next("d")["error"]?["data"]?["code"] == "not_found")
            #expect(try await next("e")["error"]?["data"]?["field"] == "content")
            #expect(try await next("f")["result"]?["seq"] == 93)
            #expect(try await next("g")["result"]?["seq"] == 94)
            #expect(try await next("h")["result"]?["seq"] == 95)
            #expect(try await next("i")["result"]?["messages"]?[0]?["seq"] == 95)
            let batch = try JSON(parsing: await alice.nextLine()).arrayValue ?? []
            #expect(batch.map { $0["id"]?.stringValue } == (1...20).map { "j\($0)" })
            #expect(batch.map { $0["result"]?["seq"]?.integerValue } == (96...115).map { $0 })
        }
    }
}
