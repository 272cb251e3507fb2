import LineClient
import Testing
import WireProtocol

@Suite("Batches over HTTP", .timeLimit(.minutes(60)))
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
}
