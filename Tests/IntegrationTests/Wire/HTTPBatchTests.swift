import BoundedWait
import DatabaseAccess
import LineClient
@testable import Postgres
import Testing
import WireProtocol

@Suite("Batches over HTTP", .timeLimit(.minutes(20)))
struct HTTPBatchTests {
    @Test("a batch beyond its time limit answers the rest with unavailable")
    func time() async throws {
        var settings = NodeSettings()
        settings.maxBatchTime = .zero
        try await withNode(settings) { node in
            let calls = (1...3).map { #"{"jsonrpc":"2.0","id":\#($0),"method":"server.info"}"# }
            let body = "[\(calls.joined(separator: ","))]"
            let request =
                "POST /v1/rpc HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: \(body.utf8.count)\r\n\r\n"
            let answer = try await RawSocketClient.connect(port: node.httpPort).exchange(Array((request + body).utf8))
            let text = String(decoding: answer, as: UTF8.self)
            let start = try #require(text.firstRange(of: "\r\n\r\n")?.upperBound)
            let answers = try #require(try JSON(parsing: String(text[start...])).arrayValue)
            #expect(answers.map { $0["id"]?.integerValue } == [1, 2, 3])
            #expect(answers[0]["result"] != nil)
            for refused in answers.dropFirst() {
                #expect(refused["error"]?["data"]?["code"]?.stringValue == "unavailable")
            }
        }
    }

    @Test("a user's batches over HTTP run two at a time")
    func twoAtATime() async throws {
        // Half of the pool may wait for locks.
        var settings = NodeSettings(poolSize: 6, rates: .withoutRefill)
        settings.limits = StatementLimits(statement: .seconds(3_600), lock: .seconds(3_600))
        try await withNode(settings) { node in
            let alice = try await node.signedIn(.alice)
            let seq = try #require(try await alice.send("a text", to: Room.aliceBob)["seq"]?.integerValue)
            let program = try await node.database.connect()
            _ = try await program.execute(
                "begin; select from public.conversations where id = '\(Room.aliceBob)' for update")
            let edit = """
                [{"jsonrpc":"2.0","id":1,"method":"messages.edit","params":{"conversation_id":"\(Room.aliceBob)",\
                "seq":\(seq),"content":"changed"}}]
                """
            let other = #"[{"jsonrpc":"2.0","id":1,"method":"me.get"}]"#
            let (own, foreign) = (try await node.accessToken(of: .alice), try await node.accessToken(of: .bob))
            try await withThrowingTaskGroup(of: TestHTTPResponse.self) { group in
                let port = node.httpPort
                for _ in 1...2 { group.addTask { try await .call("rpc", edit, token: own, port: port) } }
                try await node.database.wait(for: TestDatabase.lockWaiters(), toBe: "2")
                group.addTask { try await .call("rpc", other, token: own, port: port) }
                try await eventually("a batch waits") { await node.waitingBatches == 1 }
                // Those of other users do not.
                #expect(try await TestHTTPResponse.call("rpc", other, token: foreign, port: port).status == 200)
                #expect(await node.waitingBatches == 1)
                _ = try await program.execute("rollback")
                for try await answer in group { #expect(answer.body.contains(#""result""#), "\(answer.body)") }
            }
            await program.close()
        }
    }
}
